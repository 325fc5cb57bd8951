FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 QUORUM_DATA=/data
WORKDIR /app
# pg_dump and pg_restore, for backups.
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/*
# gpu: faiss-gpu in place of faiss-cpu. The package of torch serves both.
ARG EXTRA=cpu
COPY requirements/${EXTRA}.txt requirements/
RUN pip install --no-deps --require-hashes -r requirements/${EXTRA}.txt && pip install torch==2.13.0
COPY . .
RUN useradd --create-home quorum && mkdir /data && chown quorum /data
USER quorum
