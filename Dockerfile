# Not built by this repository's CI, which has no container engine: after a change here, build it once by hand.
#   docker build --tag countersign .
#   docker run --publish 127.0.0.1:7400:7400 --volume countersign:/data --volume ./tokens.json:/etc/countersign/tokens.json:ro countersign

FROM docker.io/library/node:26.12.1-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY libs libs
COPY apps apps
COPY integrations integrations
COPY docs/openapi.json docs/
COPY scripts/api-types.mjs scripts/
COPY tsconfig.json tsconfig.base.json tsconfig.app.json ./
# With the optional packages: the bundler's native part is one of them.
RUN npm ci --include=dev
RUN node scripts/api-types.mjs && node node_modules/typescript/bin/tsc -b
# Recorded with each start of a process: docker build --build-arg COUNTERSIGN_BUILT_COMMIT=$(git rev-parse HEAD)
ARG COUNTERSIGN_BUILT_COMMIT
RUN npm run build --workspace apps/inbox --workspace apps/cli
# The image brings its own Node: the pinned one of a checkout (an optional dependency) is left out.
RUN npm prune --omit=dev --omit=optional && find libs apps integrations -name src -type d -prune -exec rm -rf {} +

FROM docker.io/library/node:26.12.1-bookworm-slim
ENV NODE_ENV=production \
    COUNTERSIGN_HOST=0.0.0.0 \
    COUNTERSIGN_PORT=7400 \
    COUNTERSIGN_DATA=/data \
    COUNTERSIGN_TOKENS_FILE=/etc/countersign/tokens.json
WORKDIR /app
COPY --from=build --chown=root:root /app /app
# What is mounted over these takes their owner.
RUN install --directory --owner=node --group=node /data /etc/countersign/tokens && \
    install --directory --owner=node --group=node --mode=0700 /keys /credentials /credentials/tokens /credentials/requests \
      /credentials/kafka /credentials/admin /credentials/operator /credentials/worker /credentials/keeper /credentials/notary \
      /credentials/gateway /credentials/ledger /credentials/relay /credentials/projector /credentials/resolver /credentials/notifier
USER node
VOLUME /data
EXPOSE 7400
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.COUNTERSIGN_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node as PID 1: the process handles SIGTERM itself.
ENTRYPOINT ["node", "apps/cli/bin/countersign.js"]
CMD ["start", "standalone"]
