"""PersonaFeedback: many people play a described person and choose between answers."""
