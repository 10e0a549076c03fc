# One image for api, worker, simulator and the step that applies gateway.yaml; the command says which.
FROM node:24-bookworm-slim AS manifests
WORKDIR /all
COPY . .
# The next stages look only at what npm reads, so a change of code installs nothing again.
RUN mkdir /manifests && find . -name package.json -o -name package-lock.json | xargs cp --parents --target-directory=/manifests

# Compiles. Of the sources, only Lua is run.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY --from=manifests /manifests ./
RUN npm ci --ignore-scripts
COPY tsconfig.base.json ./
COPY packages ./packages
RUN npx tsc -b packages/cli && rm -rf packages/*/node_modules packages/observability \
  && find packages -type f -regex '.*\(\.tsx?\|\.map\|\.tsbuildinfo\|/tsconfig\.json\)' -delete && find packages -type d -empty -delete

# What the packages depend on, without what is not run: types, maps, pages for people, tests, the compiler (a peer that is
# optional), and the libraries of other platforms.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY --from=manifests /manifests ./
RUN npm ci --omit=dev --omit=peer --ignore-scripts && rm -rf node_modules/typescript node_modules/@typescript node_modules/@types \
  && find node_modules -type f -regex '.*\.\([cm]?ts\|map\|md\|markdown\)' ! -iname 'licen[cs]e*' -delete \
  && find node_modules -type d -regex '.*/node_modules/\(@[^/]+/\)?[^/]+/\(tests?\|__tests__\|coverage\|\.github\)' -prune -exec rm -r {} + \
  && find node_modules -path '*/prebuilds/*' -prune -type d ! -name "linux-$(node -p process.arch)" -exec rm -r {} + \
  && rm -rf bench prices release packages/observability && find packages -name package.json ! -path '*/node_modules/*' -delete
# A request takes a tenth less CPU than with the allocator of the C library (docs/production.md, Memory of Node).
RUN apt-get update && apt-get install --yes --no-install-recommends libjemalloc2 && cp /usr/lib/*/libjemalloc.so.2 /usr/local/lib/

FROM node:24-bookworm-slim
WORKDIR /app
ENV LD_PRELOAD=/usr/local/lib/libjemalloc.so.2
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_HOST=0.0.0.0 NODE_OPTIONS=--max-semi-space-size=16
COPY --from=dependencies /usr/local/lib/libjemalloc.so.2 /usr/local/lib/
COPY --from=dependencies /app ./
COPY deploy/ready.sh /usr/local/bin/ready
# A volume that is mounted there belongs to the user below. The command is for a running container: `sluice status`.
RUN install -d -o node -g node /var/lib/sluice && ln -s /app/packages/cli/bin/sluice.js /usr/local/bin/sluice
# What changes with the code comes last.
COPY gateway.yaml ./
COPY --from=build /app/packages ./packages
USER node
EXPOSE 8080 9464
CMD ["node", "packages/api/dist/main.js"]
