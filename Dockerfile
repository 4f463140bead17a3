# One image for web, worker and beat; docker-compose.yml starts the three.
FROM python:3.11-slim-bookworm

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    ATTUNE_DATA=/data

# Letters of PNG figures; the second has Chinese and Korean. Backups need the client programs of the
# server's version or newer: Debian has older ones, so they come from PostgreSQL's own repository.
ADD https://www.postgresql.org/media/keys/ACCC4CF8.asc /etc/apt/keyrings/postgresql.asc
RUN chmod 0644 /etc/apt/keyrings/postgresql.asc \
    && apt-get update && apt-get install -y --no-install-recommends ca-certificates \
    && echo "deb [signed-by=/etc/apt/keyrings/postgresql.asc] https://apt.postgresql.org/pub/repos/apt bookworm-pgdg main" \
        > /etc/apt/sources.list.d/postgresql.list \
    && apt-get update && apt-get install -y --no-install-recommends \
        fonts-dejavu-core fonts-droid-fallback postgresql-client-18 \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements-server.lock ./
RUN pip install --require-hashes -r requirements-server.lock
COPY attune manage.py ./
COPY annotation annotation
COPY templates templates
COPY static static
COPY locale locale
RUN python -m annotation.core.translations
COPY demo demo

# The code belongs to root and is only read; the account owns nothing but its data.
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin attune \
    && install -d -o attune -g attune -m 0700 /data
USER attune
VOLUME /data
EXPOSE 8000

HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health/live', timeout=4)"]
CMD ["gunicorn", "--config", "annotation/local/gunicorn.conf.py", "--bind", "0.0.0.0:8000"]
