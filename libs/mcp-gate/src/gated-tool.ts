import { gateTool, needsPerson, type GateMode, type GateTool } from '@countersign/worker-sdk';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { ListedTool } from './catalog.js';

const descriptionMax = 4000;

/** A listed tool as one that the worker SDK gates. */
export function gatedToolOf(
  tool: ListedTool,
  mode: GateMode,
  labels: Readonly<Record<string, string>>,
  execute: (args: JsonObject) => Promise<unknown>,
): GateTool {
  const { name, description = '', annotations = {} } = tool;
  const isReadOnly = annotations.readOnlyHint === true;
  const hints = Object.fromEntries(Object.entries(annotations).filter(([, hint]) => hint !== undefined));
  const define = (inputSchema: JsonObject): GateTool =>
    gateTool({
      name,
      description: description.slice(0, descriptionMax).toWellFormed(),
      inputSchema,
      needsApproval: needsPerson(mode, isReadOnly),
      labels,
      hints,
      execute: (args) => execute(args),
    });
  try {
    return define(tool.inputSchema);
  } catch {
    // A schema that cannot be enforced whole: the server checks its arguments itself.
    return define({ type: 'object' });
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
  const given = (meta as { readonly 'claudecode/toolUseId'?: unknown } | undefined)?.['claudecode/toolUseId'];
  return { name, args: args as JsonValue, givenId: typeof given === 'string' && given !== '' ? given : undefined };
}
