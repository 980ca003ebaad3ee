# satchel as a service, for whoever has the token:
#   docker build -t satchel . && docker run -e SATCHEL_HTTP_TOKEN -p 127.0.0.1:8765:8765 -v "$PWD:/project:ro" satchel
# The index is in the volume /data, which belongs to the user `satchel`; the project is only read.
FROM python:3.11-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home satchel && install -d -o satchel -g satchel /data
COPY . /source
RUN sh /source/scripts/build_tools.sh /usr/local/bin/python && pip install --no-cache-dir --no-compile \
    --no-build-isolation --no-require-hashes --constraint /source/constraints.txt '/source[mcp]' && rm -rf /source
USER 1000
ENV SATCHEL_HOME=/data
VOLUME /data
WORKDIR /project
EXPOSE 8765
# -I: Python imports nothing from the current folder, which is the mounted project.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["/usr/local/bin/python", "-I", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
CMD ["/usr/local/bin/satchel", "serve", "--host", "0.0.0.0", "--port", "8765", "--allow-remote"]
