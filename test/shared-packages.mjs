// Each spec loads again what it imports, in a realm of its own. These packages cost most of that and keep no state that a spec could
// leave to the next one, so a worker loads them once, as Node's own modules.
import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks } from 'node:module';
import perfHooks from 'node:perf_hooks';
import { types } from 'node:util';
import jestResolve from 'jest-resolve';

const { default: Resolver = jestResolve } = jestResolve;

const names = [
  '@fastify/[^/]+',
  '@nestjs/(common|core|microservices|platform-fastify)',
  '@peculiar/[^/]+',
  '@simplewebauthn/server(/helpers)?',
  '@slack/(bolt|socket-mode|web-api)',
  'commander',
  'fastify',
  'grammy',
  'jose',
  'nodemailer',
  'pino',
  'prom-client',
  're2js',
  'reflect-metadata',
  'rxjs(/operators)?',
  'yaml',
  'zod',
].join('|');
const isNamed = new RegExp(`^(${names.replaceAll('.', '\\.')})$`);
let isOn = false;
const isShared = (name) => isOn && isNamed.test(name.replace(/^node:/, ''));

/** Runs a function as outside of every spec. */
const outside = AsyncLocalStorage.snapshot();

const ordinary = Function.prototype[Symbol.hasInstance];

/** Lets a class of one realm know the instances of the same class of the other; subclasses keep their own meaning. */
export function recognize(known, isInstance) {
  Object.defineProperty(known, Symbol.hasInstance, {
    value(candidate) {
      return this === known && isInstance(candidate) ? true : ordinary.call(this, candidate);
    },
  });
}

/** The metrics of a process never end, and their observer of the event loop keeps the spec that started it: all specs have one. */
function shareLoopObservers() {
  const { monitorEventLoopDelay } = perfHooks;
  const observers = new Map();
  perfHooks.monitorEventLoopDelay = ({ resolution } = {}) => {
    if (!observers.has(resolution)) observers.set(resolution, outside(monitorEventLoopDelay, { resolution }));
    return observers.get(resolution);
  };
}

/** Loads the shared packages once in this worker, while `shareFor` says so. Jest asks for them as for a module of Node's. */
export function sharePackages() {
  recognize(Promise, types.isPromise);
  recognize(Error, types.isNativeError);
  shareLoopObservers();
  const { isCoreModule } = Resolver.prototype;
  Resolver.prototype.isCoreModule = function (name) {
    return isShared(name) || isCoreModule.call(this, name);
  };
  registerHooks({
    resolve: (name, context, next) =>
      name.startsWith('node:') && isShared(name)
        ? next(name.slice('node:'.length), { ...context, parentURL: import.meta.url })
        : next(name, context),
  });
}

/** Gives a realm the part of `Reflect` that decorators need, with the metadata that the shared packages read. */
export function shareMetadata(realm) {
  for (const name of Object.getOwnPropertyNames(Reflect)) realm.Reflect[name] ??= Reflect[name];
}

/**
 * The suites that share. The adapters have versions of their own. The processes compare what they read with `isDeepStrictEqual`, which
 * tells an object of a shared package from one of the spec.
 */
const sharing = new Set(['architecture', 'integrations', 'kafka', 'unit']);

/** Shares the packages with the specs of a project, or not. */
export function shareFor(project) {
  isOn = sharing.has(project);
  // What the spec before has registered.
  globalThis.__zod_globalRegistry?.clear();
}
