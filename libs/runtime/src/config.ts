import type { z } from 'zod';

/** A value that must not be printed: every way of turning it into text gives `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The secret value. Call it only where it is needed. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]';
  }
}

/** The problem of one variable. */
export interface ConfigProblem {
  readonly variable: string;
  readonly problem: string;
}

/** The environment is invalid. The message names every invalid variable, one per line, without values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(`invalid configuration:\n${problems.map((each) => `  ${each.variable}: ${each.problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * The settings of a process, out of its environment. An empty variable counts as not set, as compose files write them.
 * @throws ConfigError with all problems at once.
 * @example
 * const config = readConfig(z.object({ COUNTERSIGN_PORT: z.coerce.number().int().default(7400) }), process.env);
 */
export function readConfig<T extends z.ZodObject>(
  schema: T,
  env: Readonly<Record<string, string | undefined>>,
): z.infer<T> {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const result = schema.safeParse(set);
  if (result.success) return result.data;
  throw new ConfigError(
    result.error.issues.map((issue) => {
      const variable = String(issue.path[0] ?? 'environment');
      const missing = typeof issue.path[0] === 'string' && !Object.hasOwn(set, issue.path[0]);
      return { variable, problem: missing ? `must be set (${issue.message})` : issue.message };
    }),
  );
}
