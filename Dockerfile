# One image for api, worker, simulator and the step that applies gateway.yaml; the command says which.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.base.json ./
COPY bench/package.json ./bench/
COPY release/package.json ./release/
COPY packages ./packages
RUN npm ci --ignore-scripts
RUN npx tsc -b packages/cli

FROM node:24-bookworm-slim
WORKDIR /app
# A request takes a tenth less CPU than with the allocator of the C library (docs/production.md, Memory of Node).
RUN apt-get update && apt-get install --yes --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/*
ENV LD_PRELOAD=libjemalloc.so.2
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_HOST=0.0.0.0 NODE_OPTIONS=--max-semi-space-size=16
# For `sluice status` and the like in a running container.
ENV PATH=/app/node_modules/.bin:$PATH
COPY package.json package-lock.json ./
COPY bench/package.json ./bench/
COPY release/package.json ./release/
COPY --from=build /app/packages ./packages
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
COPY gateway.yaml ./
COPY deploy/ready.sh /usr/local/bin/ready
# A volume that is mounted there belongs to the user below.
RUN install -d -o node -g node /var/lib/sluice
USER node
EXPOSE 8080 9464
CMD ["node", "packages/api/dist/main.js"]
