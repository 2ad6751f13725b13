import { externalIdSchema, jcsDigest, type JsonObject, type JsonValue } from '@countersign/contracts';
import { gateTool, needsPerson, type GateMode, type GateTool } from '@countersign/worker-sdk';
import type { ListedTool } from '../server/catalog.js';
import { toolSchemaOf } from './tool-schema.js';

const descriptionMax = 4000;

/** A listed tool as one that the worker SDK gates. */
export function gatedToolOf(
  tool: ListedTool,
  mode: GateMode,
  labels: Readonly<Record<string, string>>,
  execute: (args: JsonObject) => Promise<unknown>,
): GateTool {
  const { name, description = '', annotations = {}, inputSchema } = tool;
  const isReadOnly = annotations.readOnlyHint === true;
  const hints = Object.fromEntries(Object.entries(annotations).filter(([, hint]) => hint !== undefined));
  const gated = gateTool({
    name,
    description: description.slice(0, descriptionMax).toWellFormed(),
    inputSchema: { type: 'object' },
    needsApproval: needsPerson(mode, isReadOnly),
    labels,
    hints,
    execute: (args) => execute(args),
  });
  const { json, problemsOf } = toolSchemaOf(inputSchema);
  return {
    ...gated,
    toolSchema: json,
    toolSchemaHash: jcsDigest(json),
    check: async (args) => {
      const checked = await gated.check(args);
      const issues = checked.valid ? problemsOf(checked.arguments) : [];
      return issues.length === 0 ? checked : { valid: false, issues };
    },
  };
}

/** The ledger takes no tool under this name. */
export class UnfitNameError extends Error {
  override readonly name = 'UnfitNameError';
  constructor() {
    super(
      'its name has control characters or more than 256 characters, so it cannot be put behind the gate under that name',
    );
  }
}

/** The tool and arguments of a `tools/call`, and the call's id at the client where it sends one. */
export function readCall(params: Readonly<Record<string, unknown>>): {
  readonly name: string;
  readonly args: JsonValue;
  readonly givenId: string | undefined;
} {
  const { name, arguments: args = {}, _meta: meta } = params;
  if (typeof name !== 'string' || name === '') throw new TypeError('the request names no tool');
  if (!externalIdSchema.safeParse(name).success || !name.isWellFormed()) throw new UnfitNameError();
  const given = (meta as { readonly 'claudecode/toolUseId'?: unknown } | undefined)?.['claudecode/toolUseId'];
  return { name, args: args as JsonValue, givenId: typeof given === 'string' && given !== '' ? given : undefined };
}
