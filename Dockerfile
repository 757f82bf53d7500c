# The host as a container. What it needs at run time is in the second stage alone, and nothing of it runs as root.
FROM node:24-slim AS build
WORKDIR /src
COPY . .
# One flat folder of dependencies: a peer of a package of ours, such as effect, is found beside it.
RUN npm run setup \
  && rm -rf node_modules packages/*/node_modules \
  && CI=true npx --yes pnpm@10.34.8 install --prod --frozen-lockfile --config.node-linker=hoisted --filter @sendwright/host... \
  && chmod +x packages/host/dist/cli/main.js

FROM node:24-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATABASE_URL=sqlite:/data/sendwright.db
RUN mkdir /data && chown node:node /data && ln -s /app/packages/host/dist/cli/main.js /usr/local/bin/sendwright
WORKDIR /app
COPY --from=build /src/node_modules node_modules
COPY --from=build /src/packages/core packages/core
COPY --from=build /src/packages/http packages/http
COPY --from=build /src/packages/host packages/host
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Not by way of npm or a shell, which would keep the signals: SIGTERM stops it gracefully.
CMD ["node", "packages/host/dist/bundle/main.mjs"]
