import { AsyncLocalStorage } from 'node:async_hooks';

type Fields = Readonly<Record<string, unknown>>;

/** The fields of the lines that are written for one piece of work. */
interface Scope {
  fields: Fields;
}

const scopes = new AsyncLocalStorage<Scope>();

/** A piece of work whose lines in any log carry the same fields, such as the id of a request. */
export interface LogScope {
  /** Runs the function. The lines of everything that it begins carry the fields, until the scope ends. */
  readonly run: (fn: () => void) => void;
  /** From now on no line carries the fields, also those of timers that the work has left behind. */
  readonly end: () => void;
}

/** Opens a scope with these fields. */
export function openLogScope(fields: Fields): LogScope {
  const scope: Scope = { fields };
  return {
    run: (fn) => {
      scopes.run(scope, fn);
    },
    end: () => {
      scope.fields = {};
    },
  };
}

/** Returns the fields of the scope in which this runs. */
export function scopedFields(): Fields {
  return scopes.getStore()?.fields ?? {};
}
