# One image for api, worker, simulator and the step that applies gateway.yaml; the command says which.
FROM node:24-bookworm-slim AS manifests
WORKDIR /all
COPY . .
# The next stages look only at what npm reads, so a change of code installs nothing again.
RUN mkdir /manifests && find . -name package.json -o -name package-lock.json | xargs cp --parents --target-directory=/manifests

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY --from=manifests /manifests ./
RUN npm ci --ignore-scripts
COPY tsconfig.base.json ./
COPY packages ./packages
# Of the sources, only Lua is run.
RUN npx tsc -b packages/cli && rm -rf packages/*/node_modules && find packages -type f -regex '.*\.\(tsx?\|map\|tsbuildinfo\)' -delete

FROM node:24-bookworm-slim
WORKDIR /app
# A request takes a tenth less CPU than with the allocator of the C library (docs/production.md, Memory of Node).
RUN apt-get update && apt-get install --yes --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/*
ENV LD_PRELOAD=libjemalloc.so.2
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_HOST=0.0.0.0 NODE_OPTIONS=--max-semi-space-size=16
# For `sluice status` and the like in a running container.
ENV PATH=/app/node_modules/.bin:$PATH
COPY --from=manifests /manifests ./
# Types, maps, pages for people, the compiler and the libraries of other platforms are not run.
RUN npm ci --omit=dev --omit=peer --ignore-scripts && npm cache clean --force && rm -rf /root/.npm \
  && find node_modules -type f -regex '.*\.\([cm]?ts\|map\|md\)' ! -iname 'licen[cs]e*' -delete \
  && find node_modules -path '*/prebuilds/*' -prune -type d ! -name "linux-$(node -p process.arch)" -exec rm -r {} +
COPY --from=build /app/packages ./packages
COPY gateway.yaml ./
COPY deploy/ready.sh /usr/local/bin/ready
# A volume that is mounted there belongs to the user below.
RUN install -d -o node -g node /var/lib/sluice
USER node
EXPOSE 8080 9464
CMD ["node", "packages/api/dist/main.js"]
