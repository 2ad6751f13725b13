import type { JsonValue } from '@countersign/worker-sdk';
import type { NotedOutput } from './noted-output.js';

/** In place of an output that the ledger cannot record, because it is too large or not JSON. The tool succeeded. */
export interface UnrecordedOutput {
  readonly unrecorded: string;
}

/** The output of a gated tool, as the ledger returns it. `O` is the type of the tool's own output. */
export type RecordedOutput<O> = Jsonified<O> | UnrecordedOutput | NotedOutput;

/** The type of a value that has been written as JSON and read again. `never` for a value that JSON cannot have. */
export type Jsonified<T> = unknown extends T
  ? JsonValue
  : T extends JsonValue
    ? T
    : T extends undefined
      ? null
      : T extends bigint | Omitted
        ? never
        : T extends { readonly toJSON: (...args: never) => infer J }
          ? Jsonified<J>
          : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
            ? Record<string, never>
            : T extends object
              ? { [K in keyof T]: Member<T[K], T extends readonly unknown[] ? null : undefined> }
              : JsonValue;

/** JSON has no such members. */
type Omitted = undefined | symbol | ((...args: never) => unknown);

type Member<T, Absent> = T extends Omitted ? Absent : Jsonified<T>;
