// Each spec compiles again what it imports, in a realm of its own. V8 can take over most of that from an earlier compilation in the same
// worker.
import vm from 'node:vm';

/** The last sources of each file, and what V8 made of them. */
const compiled = new Map();

/** A file has two sources where only some specs count its lines. */
const keyOf = (file, source) => `${file} ${source.length}`;

/** The data are copied: the ones that V8 gives out belong to the realm of a spec, and would keep all that it has loaded. */
function keep(file, source, data) {
  compiled.set(keyOf(file, source), { source, data: Buffer.from(data) });
}

function dataOf(file, source) {
  const before = compiled.get(keyOf(file, source));
  return before?.source === source ? before.data : undefined;
}

class CachedSourceTextModule extends vm.SourceTextModule {
  constructor(source, options) {
    let cachedData = dataOf(options.identifier, source);
    try {
      super(source, { ...options, cachedData });
    } catch (error) {
      // V8 takes nothing over that was compiled under other flags, and a spec may set one.
      if (error.code !== 'ERR_VM_MODULE_CACHED_DATA_REJECTED') throw error;
      cachedData = undefined;
      super(source, options);
    }
    if (cachedData === undefined) keep(options.identifier, source, this.createCachedData());
  }
}

const { compileFunction } = vm;

function compileCachedFunction(source, parameters, options) {
  const { filename } = options;
  const cachedData = dataOf(filename, source);
  const compiledFunction = compileFunction(source, parameters, {
    ...options,
    cachedData,
    produceCachedData: cachedData === undefined,
  });
  if (cachedData === undefined) keep(filename, source, compiledFunction.cachedData);
  return compiledFunction;
}

/** From now on this worker compiles each module and each function of a file once. */
export function cacheCompiledCode() {
  Object.assign(vm, { SourceTextModule: CachedSourceTextModule, compileFunction: compileCachedFunction });
}
