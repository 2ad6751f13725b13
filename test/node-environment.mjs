// Jest runs a spec in a realm of its own, so an error of Node's own modules (ENOENT and the like) is no instance of that
// realm's Error, which it is in production. Here it is one again; subclasses keep their own meaning. So are the dispatchers
// of `fetch`, which are members of the global object under these symbols.
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'node:util';
import { TestEnvironment } from 'jest-environment-node';
import { cacheCompiledCode } from './code-cache.mjs';
import { keepNewCoverage } from './new-coverage.mjs';
import { recognize, shareFor, shareMetadata, sharePackages } from './shared-packages.mjs';
import { recordCpu, usedCpuMs } from './spec-cpu.mjs';

cacheCompiledCode();
sharePackages();

const dispatchers = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`));

/** How long a spec's sockets, timers and child processes may take to end after its last hook. */
const closingMsMax = 5_000;
/** A heap that is larger holds mostly what earlier specs have loaded. */
const heapBytesMax = 700_000_000;
/** After a collection it holds Jest, the shared packages, compiled code and the last spec: about 150 MB. */
const heapBytesKept = 450_000_000;
/** A limit of a test finds what hangs. In CI all suites share the processors, and the machine may be slow. */
const patience = process.env.CI ? 3 : 1;

export default class extends TestEnvironment {
  #path;
  #spec;
  #cpuBefore = usedCpuMs();
  #openBefore;
  #hasFailed = false;
  #prolonged = new WeakSet();

  constructor(config, context) {
    super(config, context);
    shareFor(config.projectConfig.displayName?.name);
    this.#path = context.testPath;
    this.#spec = relative(config.globalConfig.rootDir, context.testPath);
  }

  async setup() {
    await super.setup();
    shareMetadata(this.global);
    recognize(this.global.Error, types.isNativeError);
    recognize(this.global.Promise, types.isPromise);
    // Node loads them with the first of their classes.
    void new globalThis.Headers();
    for (const name of dispatchers) this.global[name] = globalThis[name];
    this.#openBefore = openResources();
  }

  handleTestEvent({ name, test, hook }, { testTimeout }) {
    if (name === 'test_fn_start') this.#prolong(test, testTimeout);
    if (name === 'hook_start') this.#prolong(hook, testTimeout);
    if (name === 'test_done' && test.errors.length > 0) this.#hasFailed = true;
    // The last event of a spec. Jest takes its coverage after that.
    if (name === 'teardown' && this.global.__coverage__) keepNewCoverage(this.global.__coverage__);
  }

  #prolong(limited, usual) {
    if (this.#prolonged.has(limited)) return;
    this.#prolonged.add(limited);
    limited.timeout = (limited.timeout ?? usual) * patience;
  }

  /** @throws Error when the spec leaves behind what would keep a process running: a socket, a timer, a child process. */
  async teardown() {
    const left = await this.#leftOpen();
    recordCpu(this.#path, usedCpuMs() - this.#cpuBefore);
    await super.teardown();
    collectAll();
    // A test that failed says more, and may have had no chance to close what it opened.
    if (left.length === 0 || this.#hasFailed) return;
    throw new Error(
      `${this.#spec} left open: ${left.join(', ')}. Close in afterEach or afterAll what the spec opened.`,
    );
  }

  async #leftOpen() {
    const giveUpAt = Date.now() + closingMsMax;
    for (;;) {
      const left = [...openResources()].filter(([name, count]) => count > (this.#openBefore?.get(name) ?? 0));
      if (left.length === 0 || Date.now() > giveUpAt) return left.map(([name, count]) => `${count} ${name}`);
      await sleep(20);
    }
  }
}

/**
 * Frees what the specs before have loaded. V8's collections of its own accord keep it (about 3 MB for each spec), and the alternative, a
 * new worker, has to load and compile all of Jest and of the shared packages again. V8's last resort is three collections or more, so it is
 * for what the first one leaves.
 */
function collectAll() {
  if (heapBytes() < heapBytesMax) return;
  globalThis.gc?.({ type: 'major', execution: 'sync' });
  if (heapBytes() < heapBytesKept) return;
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

function heapBytes() {
  return process.memoryUsage().heapUsed;
}

/**
 * Returns the resources that keep this process running, counted by kind. Jest's own channel to its workers is in it
 * before and after.
 */
function openResources() {
  const counts = new Map();
  for (const name of process.getActiveResourcesInfo()) {
    // Work of the thread pool and closing handles end by themselves. A process opens its standard streams at their first use.
    if (name.endsWith('Request') || name.endsWith('ReqCallback') || name === 'CloseReq' || name === 'PipeWrap')
      continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
