import {
  checkGating,
  gateTool,
  isSameJson,
  type GateTool,
  type JsonSchema,
  type ToolDefinition,
} from '@countersign/worker-sdk';
import { asSchema, type FlexibleSchema, type Schema, type ToolExecutionOptions } from 'ai';
import { z } from 'zod';
import type { ToModelOutput } from './noted-output.js';

/** The options that the framework passes to the tool. Predicates get only `toolCallId` and `messages`. */
export type FrameworkOptions = ToolExecutionOptions<unknown>;

/** The members of the framework's tool that the adapter uses. */
export interface FrameworkTool {
  readonly description?: unknown;
  readonly inputSchema: FlexibleSchema<unknown>;
  readonly execute?: (input: unknown, options: FrameworkOptions) => unknown;
  readonly toModelOutput?: ToModelOutput;
  readonly metadata?: unknown;
  readonly needsApproval?: unknown;
}

/** The tool as the worker runs it. */
export function gateToolOf(name: string, tool: FrameworkTool | undefined, gate: unknown): GateTool<FrameworkOptions> {
  const run = tool?.execute;
  if (tool === undefined || run === undefined) {
    throw new TypeError(`tool ${name}: only a tool with \`execute\` can stand behind the gate`);
  }
  const { description } = tool;
  const options = { ...(gate as Partial<ToolDefinition<z.ZodType | JsonSchema, FrameworkOptions>>) };
  checkGating(name, options);
  const { needsApproval = options.decide === undefined } = options;
  if (needsApproval !== true) assertAsksByGate(name, tool);
  const gated = gateTool<z.ZodType | JsonSchema, FrameworkOptions>({
    ...(typeof description === 'string' ? { description } : {}),
    ...hintsOf(tool),
    ...options,
    needsApproval,
    name,
    inputSchema: schemaOf(name, tool),
    inputIsParsed: true,
    clientExecuted: false,
    signalOf: (context) => context?.abortSignal,
    execute: async (input, { context, signal, toolCallId, messages }) => {
      // A worker that recovers a run has no framework around it.
      const given = context ?? { toolCallId, messages: messages as FrameworkOptions['messages'], context: undefined };
      return lastOf(await run(input, { ...given, abortSignal: signal }));
    },
  });
  const { validate } = asSchema(tool.inputSchema);
  return validate === undefined || tool.inputSchema instanceof z.ZodType ? gated : validated(gated, validate);
}

/** Asked by the gate alone, a person would agree to fewer calls than the tool says. */
function assertAsksByGate(name: string, { needsApproval = false }: FrameworkTool): void {
  if (needsApproval === false) return;
  const remedy = "remove it, the `needsApproval` of the tool's gate decides";
  throw new TypeError(`tool ${name}: its own \`needsApproval\` has no effect behind the gate: ${remedy}`);
}

const hint = z.boolean().optional().catch(undefined);

/** The metadata that `@ai-sdk/mcp` gives to a tool. They come from the MCP server, so a member that the ledger would refuse is left out. */
const mcpMetadata = z.object({
  annotations: z.object({
    title: z
      .string()
      .max(256)
      .refine((title) => title.isWellFormed())
      .optional()
      .catch(undefined),
    readOnlyHint: hint,
    destructiveHint: hint,
    idempotentHint: hint,
    openWorldHint: hint,
  }),
});

/** The annotations of an MCP tool, for expressions of the policy. */
function hintsOf({ metadata }: FrameworkTool): Pick<ToolDefinition<JsonSchema>, 'hints'> {
  const { data } = mcpMetadata.safeParse(metadata);
  if (data === undefined) return {};
  return { hints: Object.fromEntries(Object.entries(data.annotations).filter(([, value]) => value !== undefined)) };
}

/** A schema of another library, such as zod 3, can refuse more than its JSON Schema does. An edit must pass it too. */
function validated(
  gated: GateTool<FrameworkOptions>,
  validate: NonNullable<Schema['validate']>,
): GateTool<FrameworkOptions> {
  const invalid = (message: string) => ({ valid: false, issues: [{ path: '', message }] }) as const;
  return {
    ...gated,
    check: async (args, isRecorded) => {
      const checked = await validate(args);
      // It may have refused its own output.
      if (!checked.success) return invalid(`${checked.error.message} (a schema that transforms cannot stand here)`);
      return isSameJson(checked.value, args)
        ? gated.check(args, isRecorded)
        : invalid('the schema of the tool transforms, so people would see another value than it gets');
    },
  };
}

function schemaOf(name: string, { inputSchema }: FrameworkTool): z.ZodType | JsonSchema {
  if (inputSchema instanceof z.ZodType) return inputSchema;
  const { jsonSchema } = asSchema(inputSchema);
  if ('then' in jsonSchema) throw new TypeError(`tool ${name}: its schema must be zod 4 or \`jsonSchema({…})\``);
  return jsonSchema as JsonSchema;
}

/** The preliminary outputs of a generator end here: the ledger records one output. */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const part of output as AsyncIterable<unknown>) last = part;
  return last;
}
