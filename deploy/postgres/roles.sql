-- Two roles beside the superuser: attune_owner owns the schema and runs its migrations (prepare,
-- restore), attune is the application's. As it owns nothing, it can neither take the guards off the
-- audit table nor change a schema. PostgreSQL's image runs this file once, in a new volume; elsewhere
-- a superuser runs it with psql in Attune's database (PostgreSQL 17 or newer), as often as wanted.
--
-- Passwords: POSTGRES_OWNER_PASSWORD and POSTGRES_APPLICATION_PASSWORD of the environment.
\set ON_ERROR_STOP on
\getenv owner_password POSTGRES_OWNER_PASSWORD
\getenv application_password POSTGRES_APPLICATION_PASSWORD
\if :{?owner} \else \set owner attune_owner \endif
\if :{?application} \else \set application attune \endif

SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY[:'owner', :'application']) name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE :"owner" PASSWORD :'owner_password';
ALTER ROLE :"application" PASSWORD :'application_password';

SELECT format('ALTER DATABASE %I OWNER TO %I', current_database(), :'owner') \gexec
CREATE EXTENSION IF NOT EXISTS vector;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO :"application";
-- MAINTAIN is for ANALYZE after an import, and with the two grants for what follows an erasure.
GRANT pg_checkpoint TO :"application";
GRANT EXECUTE ON FUNCTION pg_switch_wal() TO :"application";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON TABLES TO :"application";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO :"application";
