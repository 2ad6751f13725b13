import { decisionTypes } from '@countersign/contracts';
import type { JsonObject, Presented } from '@countersign/contracts';
import type { z } from 'zod';
import { checkedCallLabels } from './call-labels.js';
import { createJudge, cut } from './judge.js';
import type { InputIssue } from './json-schema.js';
import { inputSchemaOf, type JsonSchema } from './schema.js';
import { checkInteger } from './check-numbers.js';
import type { ApprovalContext, GateTool, ToolDefinition, ToolGating } from './tool-definition.js';

/**
 * Declares a tool, and when a person must agree to a call of it.
 *
 * Warns (`CountersignWarning`) of each part of the input schema that the server does not check.
 *
 * Throws a TypeError for a tool that has neither `execute` nor `clientExecuted`, or both, and for an unknown decision in
 * `allowedDecisions`.
 *
 * @example
 * const deleteFile = gateTool({
 *   name: 'delete_file',
 *   description: 'Deletes a file',
 *   inputSchema: z.strictObject({ path: z.string() }),
 *   needsApproval: ({ path }) => !/^\/workspace\/[\w-]+\.txt$/.test(path),
 *   approvalPrompt: ({ path }) => `Delete ${path}?`,
 *   execute: async ({ path }) => {
 *     await unlink(path);
 *     return { deleted: path };
 *   },
 * });
 */
export function gateTool<const S extends z.ZodType | JsonSchema, C = unknown>(
  definition: ToolDefinition<S, C>,
): GateTool<C> {
  assertRunnable(definition);
  checkInteger(`tool ${definition.name}`, 'toolTimeoutMs', definition.toolTimeoutMs);
  const schema = inputSchemaOf(definition.inputSchema);
  const { name, description, approvalPrompt, execute, labels } = definition;
  warnOfNotes(name, schema.notes);
  const judge = createJudge(definition);
  return {
    name,
    description,
    toolSchema: schema.json,
    toolSchemaHash: schema.hash,
    schemaNotes: schema.notes,
    clientExecuted: definition.clientExecuted ?? false,
    idempotent: definition.idempotent ?? false,
    toolTimeoutMs: definition.toolTimeoutMs,
    expiresInMs: definition.expiresInMs,
    allowedDecisions: definition.allowedDecisions,
    labels: typeof labels === 'function' ? undefined : labels,
    hints: definition.hints,
    signalOf: definition.signalOf,
    check: async (args, isRecorded) => {
      const parsed = await schema.parse(args, isRecorded);
      const isParsedAgain = definition.inputIsParsed === true;
      if (!parsed.valid) return isParsedAgain && schema.isTransforming ? withTransform(parsed) : parsed;
      if (isParsedAgain && !parsed.isAsAsked) return changedAgain;
      const { input } = parsed;
      // Attack: code that changes in place what it judges must not change what runs.
      const judged = async () => {
        const again = await schema.parse(args, isRecorded);
        return again.valid ? again.input : input;
      };
      return {
        valid: true,
        arguments: parsed.arguments,
        judge: async (context) => judge.judge(await judged(), context),
        denial: async (context) => judge.denial(await judged(), context),
        describe: async (context) =>
          (await prompt(approvalPrompt, input, context)) ?? description ?? `Run ${name} with these arguments?`,
        present: (context) => presentedBy(definition, input, context),
        label: async (context) =>
          typeof labels === 'function' ? checkedCallLabels(await labels(await judged(), context)) : {},
        execute: execute === undefined ? undefined : async (context) => execute(input, context),
      };
    },
  };
}

/** A part of the schema that the server does not check is said when the tool is declared, not when a person edits. */
function warnOfNotes(name: string, notes: GateTool['schemaNotes']): void {
  for (const { pointer, why } of notes) {
    const part = pointer === '' ? 'the input schema' : `${pointer} of the input schema`;
    process.emitWarning(`tool ${name}: Countersign does not check ${part}: it ${why}`, 'CountersignWarning');
  }
}

const changedAgain = {
  valid: false,
  issues: [{ path: '', message: 'the schema of the tool transforms, so people would see another value than it gets' }],
} as const;

/** The issues are true of an edit only: the framework has parsed the arguments of the model. */
function withTransform({ issues }: { readonly issues: readonly InputIssue[] }) {
  return { valid: false, issues: [...changedAgain.issues, ...issues] } as const;
}

/** Checked again at run time: types do not reach tools written in JavaScript. */
function assertRunnable(definition: {
  readonly name: string;
  readonly needsApproval?: unknown;
  readonly decide?: unknown;
  readonly execute?: unknown;
  readonly clientExecuted?: unknown;
  readonly allowedDecisions?: readonly string[];
  readonly labels?: unknown;
}): void {
  const { name, needsApproval, decide, execute, clientExecuted, allowedDecisions = [], labels } = definition;
  const runsHere = typeof execute === 'function';
  if (!runsHere && clientExecuted !== true) {
    throw new TypeError(`tool ${name}: give it \`execute\`, or \`clientExecuted: true\` if the client runs it`);
  }
  if (runsHere && clientExecuted === true) {
    throw new TypeError(`tool ${name}: \`execute\` and \`clientExecuted: true\` exclude each other`);
  }
  if (!['undefined', 'boolean', 'function'].includes(typeof needsApproval)) {
    throw new TypeError(`tool ${name}: \`needsApproval\` must be a boolean or a function`);
  }
  if (!['undefined', 'function'].includes(typeof decide)) {
    throw new TypeError(`tool ${name}: \`decide\` must be a function`);
  }
  if (!['undefined', 'object', 'function'].includes(typeof labels)) {
    throw new TypeError(`tool ${name}: \`labels\` must be an object or a function`);
  }
  const decisions: readonly string[] = decisionTypes;
  const other = allowedDecisions.find((decision) => !decisions.includes(decision));
  if (other !== undefined) {
    throw new TypeError(`tool ${name}: \`allowedDecisions\` has ${other}: a decision is ${decisions.join(', ')}`);
  }
}

async function prompt<I, C>(
  approvalPrompt: ToolGating<I, C>['approvalPrompt'],
  input: I,
  context: ApprovalContext<C>,
): Promise<string | undefined> {
  try {
    const text: unknown = await approvalPrompt?.(input, context);
    return typeof text === 'string' ? cut(text) : undefined;
  } catch {
    // The question is for people's comfort: without it they still see tool and arguments.
    return undefined;
  }
}

/** It is for people's comfort: data that cannot be made are left out. */
function presentedBy<I, C>(
  { title, description, metadata }: Presenting<I, C>,
  input: I,
  context: ApprovalContext<C>,
): Presented {
  return {
    ...(title !== undefined && title !== '' && { title: cut(title, titleMax) }),
    ...(description !== undefined && { toolDescription: cut(description) }),
    ...metadataOf(metadata, input, context),
  };
}

interface Presenting<I, C> {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly metadata?: JsonObject | ((input: I, context: ApprovalContext<C>) => JsonObject | undefined) | undefined;
}

function metadataOf<I, C>(
  given: Presenting<I, C>['metadata'],
  input: I,
  context: ApprovalContext<C>,
): Pick<Presented, 'metadata'> {
  try {
    const metadata = typeof given === 'function' ? given(input, context) : given;
    return metadata === undefined ? {} : { metadata };
  } catch {
    return {};
  }
}

const titleMax = 250;
