import type { InnerCall } from '../server/inner-run.js';
import { externalIdSchema, jcsDigest, type JsonObject, type JsonValue } from '@countersign/contracts';
import { gateTool, jsonSchemaOf, needsPerson, type GateMode, type GateTool } from '@countersign/worker-sdk';
import type { ListedTool } from '../server/listed-tool.js';
import { objectOf } from '../wire.js';

const descriptionMax = 4000;

/** The label with a hash of the definition of the tool, as the server listed it when people were asked. */
const definitionLabel = 'mcpDefinition';
/** The label with a hash of the command or the address: two servers can give themselves one name. */
const endpointLabel = 'mcpEndpoint';

/** The server has changed the definition of a tool since people were asked about a call of it. */
export class ChangedDefinitionError extends Error {
  override readonly name = 'ChangedDefinitionError';
  constructor() {
    super(
      'the tool did not run: the MCP server changed its definition after people were asked. Call it again, and they see the new one',
    );
  }
}

/**
 * Throws a `ChangedDefinitionError` when the tool is another than the one about which people were asked. The attack: a
 * server waits for the approval, and then gives the tool another description, under which nobody would have approved.
 *
 * @param asked the labels of the approval; undefined where people were not asked.
 * @param before the tool as it was when the call was requested.
 */
export function checkDefinition(
  asked: Readonly<Record<string, string>> | undefined,
  before: ListedTool,
  now: ListedTool,
): void {
  if ((asked?.[definitionLabel] ?? definitionOf(before)) !== definitionOf(now)) throw new ChangedDefinitionError();
}

/** The labels of a tool's server and definition, for the policy, standing grants and the next gate. */
export function toolLabelsOf(tool: ListedTool, endpoint: string): Readonly<Record<string, string>> {
  return { [endpointLabel]: endpoint, [definitionLabel]: definitionOf(tool) };
}

/** A hash of all that the server says about the tool. */
function definitionOf(tool: ListedTool): string {
  const { title, description, inputSchema, outputSchema, annotations } = tool;
  const json = JSON.stringify([title, description, inputSchema, outputSchema, annotations]);
  return jcsDigest(json).slice('sha256:'.length, 'sha256:'.length + 32);
}

/** The member of `_meta` with the receipt of a claim. */
const receiptKey = 'countersign/receipt';

/** A listed tool as one that the worker SDK gates. */
export function gatedToolOf(
  tool: ListedTool,
  mode: GateMode,
  labels: Readonly<Record<string, string>>,
  execute: (args: JsonObject, receipt: string | null) => Promise<unknown>,
): GateTool {
  const { name, title = tool.annotations?.title, description = '', annotations = {}, inputSchema } = tool;
  const isReadOnly = annotations.readOnlyHint === true;
  const hints = Object.fromEntries(Object.entries(annotations).filter(([, hint]) => hint !== undefined));
  const gated = gateTool({
    name,
    description: cut(description),
    title,
    inputSchema: { type: 'object' },
    needsApproval: needsPerson(mode, isReadOnly),
    labels,
    hints,
    execute: (args, { receipt }) => execute(args, receipt()),
  });
  const { json, notes, issuesOf } = jsonSchemaOf(inputSchema);
  return {
    ...gated,
    toolSchema: json,
    toolSchemaHash: jcsDigest(json),
    schemaNotes: notes,
    check: async (args, isRecorded) => {
      const checked = await gated.check(args, isRecorded);
      const issues = checked.valid ? issuesOf(checked.arguments) : [];
      return issues.length === 0 ? checked : { valid: false, issues };
    },
  };
}

/** A mark says that the text goes on; the label of the definition covers all of it. */
function cut(text: string): string {
  return text.length > descriptionMax ? `${text.slice(0, descriptionMax - 1).toWellFormed()}…` : text.toWellFormed();
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

/**
 * The parameters of a `tools/call` for the server: what people approved, the receipt of the claim, and the token under which the
 * client hears of progress. The attack: a client sends the server something beside the arguments that people read.
 */
export function paramsForServer(
  params: Readonly<Record<string, unknown>>,
  { args, receipt }: InnerCall,
): Record<string, unknown> {
  const { progressToken } = objectOf(params['_meta']);
  const isToken = typeof progressToken === 'string' || typeof progressToken === 'number';
  const meta = { ...(isToken && { progressToken }), ...(receipt !== null && { [receiptKey]: receipt }) };
  return { name: params['name'], arguments: args, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}
