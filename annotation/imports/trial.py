"""The judging page of a file's first row: it is imported and handed out, and all is rolled back."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from django.db import OperationalError, connection, transaction
from django.http import HttpResponse
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.imports import bring, store
from annotation.imports.tables import Beginning
from annotation.judging.curator import preview
from annotation.judging.kinds.files import WIDER
from annotation.judging.models import Item
from annotation.studies.models import Study

# Rows that are imported until one is an item: a later line may make the question of an earlier one.
ROWS = 5


def judging_page(
    study: Study, begin: Beginning, options: dict[str, Any], render: Callable
) -> HttpResponse:
    """What ``render(tried)`` gives for the first item that the rows of ``begin`` make.

    ``options`` are those of the mapping's form. DomainError where no item can be made.
    """
    mapping = bring.classed(options["mapping"], begin.records())
    with transaction.atomic():
        try:
            with connection.cursor() as cursor:  # an import of the study may hold it for minutes
                cursor.execute("SET LOCAL lock_timeout = '1s'")
            last = Item.objects.filter(study=study).order_by("-position").first()
            choices = {"task": options["task"], "skip_faults": True, "allow": list(WIDER)}
            rows = islice(bring.of_depth(iter(begin.rows), mapping.depth), ROWS)
            store.store(study, rows, mapping, **choices)
            made = Item.objects.filter(study=study, position__gt=last.position if last else 0)
            item = made.order_by("position").select_related("batch__task").first()
            if item is None:
                sentence = _(
                    "These rows make no new item that people would judge: choose a task, or say "
                    "which column holds labels, scores or answers to questions."
                )
                raise DomainError(sentence)
            return preview.try_task(study, item.batch.task, batch=item.batch, render=render)
        except OperationalError as error:
            raise DomainError(_("Another import into this study is under way.")) from error
        finally:
            transaction.set_rollback(True)
