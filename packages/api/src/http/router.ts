/** @koa/router as CommonJS. As an ES module it imports `node:http`, which costs what node-http.ts says. */
import { createRequire } from 'node:module';
import type * as koaRouter from '@koa/router';

export const Router: typeof koaRouter.Router = createRequire(import.meta.url)('@koa/router').Router;
