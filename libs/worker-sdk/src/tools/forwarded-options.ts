import type { ToolGating } from './tool-definition.js';

/** A table, so that no option of a gate is forgotten. */
const gating: Readonly<Record<keyof ToolGating<unknown>, true>> = {
  needsApproval: true,
  decide: true,
  approvalPrompt: true,
  idempotent: true,
  toolTimeoutMs: true,
  expiresInMs: true,
  allowedDecisions: true,
  labels: true,
};

/** Throws a TypeError for a member that is no option of a gate: with a misspelt one the tool would stand behind another gate. */
export function checkGating(toolName: string, options: object): void {
  assertTaken(`tool ${toolName}: the gate`, options, new Set(Object.keys(gating)));
}

function assertTaken(
  owner: string,
  options: object,
  taken: ReadonlySet<string>,
  reasons: ReadonlyMap<string, string> = new Map(),
): void {
  for (const [member, value] of Object.entries<unknown>({ ...options })) {
    if (value === undefined || taken.has(member)) continue;
    throw new TypeError(`${owner} does not take \`${member}\`: ${reasons.get(member) ?? 'it is no option of it'}`);
  }
}

/** The options of an adapter's `gatedTool`, besides those of the gate. */
export interface OptionTable<F extends string> {
  /** The adapter uses these itself. */
  readonly own: readonly string[];
  /** These reach the framework unchanged. */
  readonly forwarded: readonly F[];
  /** The framework has these, and they cannot be kept; the value says why. */
  readonly refused: Readonly<Record<string, string>>;
}

/**
 * Returns the options that reach the framework. Throws a TypeError for any other that is not in the table: an option that
 * is dropped in silence may have switched the tool off.
 */
export function forwardedOptions<F extends string, O extends { readonly [M in F]?: unknown }>(
  toolName: string,
  options: O,
  { own, forwarded, refused }: OptionTable<F>,
): Pick<O, F> {
  const taken = new Set<string>([...Object.keys(gating), ...own, ...forwarded]);
  assertTaken(`tool ${toolName}: gatedTool`, options, taken, new Map(Object.entries(refused)));
  const given = Object.entries<unknown>(options).filter(([, value]) => value !== undefined);
  const passed = new Set<string>(forwarded);
  return Object.fromEntries(given.filter(([member]) => passed.has(member))) as Pick<O, F>;
}
