from django import template

from annotation.agreement.sentences import said

register = template.Library()
register.filter("said", said)
