import { isBlank } from '@countersign/contracts';
import { z } from 'zod';
import { messageOf } from '../errors.js';
import type { ApprovalContext, ApprovalNeed, CodeDecision, ToolGating } from './tool-definition.js';

/** What the code of a tool says about a call of it. */
interface Judge<I, C> {
  /** By `needsApproval` and `decide`: the stricter of both counts. */
  readonly judge: (input: I, context: ApprovalContext<C>) => Promise<ApprovalNeed>;
  /** By `decide` alone: the reason of a denial. */
  readonly denial: (input: I, context: ApprovalContext<C>) => Promise<string | undefined>;
}

type Code<I, C> = Pick<ToolGating<I, C>, 'needsApproval' | 'decide'> & { readonly name: string };

/** The judge of a tool. It never throws: code that fails means that a person must agree. */
export function createJudge<I, C>(code: Code<I, C>): Judge<I, C> {
  return {
    judge: async (input, context) => {
      const decided = await decisionOf(code, input, context);
      return decided.deny === undefined && !decided.needsApproval ? needOf(code, input, context) : decided;
    },
    denial: async (input, context) => (await decisionOf(code, input, context)).deny,
  };
}

const decisionSchema: z.ZodType<CodeDecision> = z.union([
  z.enum(['allow', 'ask']),
  z.strictObject({ deny: z.string() }),
]);

async function decisionOf<I, C>(
  { name, decide }: Code<I, C>,
  input: I,
  context: ApprovalContext<C>,
): Promise<ApprovalNeed> {
  if (decide === undefined) return { needsApproval: false };
  try {
    const { success, data } = decisionSchema.safeParse(await decide(input, context));
    if (!success) return failClosed(`The \`decide\` of ${name} returned neither allow, nor ask, nor a denial`);
    if (typeof data === 'string') return { needsApproval: data === 'ask' };
    return { needsApproval: false, deny: cut(isBlank(data.deny) ? `the code of ${name} denies it` : data.deny) };
  } catch (error) {
    return failClosed(`The \`decide\` of ${name} failed (${messageOf(error)})`);
  }
}

const verdictSchema = z.union([z.boolean(), z.strictObject({ required: z.boolean(), reason: z.string().optional() })]);

async function needOf<I, C>(
  { name, needsApproval: needs = false }: Code<I, C>,
  input: I,
  context: ApprovalContext<C>,
): Promise<ApprovalNeed> {
  if (typeof needs === 'boolean') return { needsApproval: needs };
  try {
    const verdict = verdictSchema.safeParse(await needs(input, context));
    if (!verdict.success) return failClosed(`The approval check of ${name} returned neither true nor false`);
    if (typeof verdict.data === 'boolean') return { needsApproval: verdict.data };
    const { required, reason } = verdict.data;
    return { needsApproval: required, ...(reason === undefined ? {} : { reason: cut(reason) }) };
  } catch (error) {
    return failClosed(`The approval check of ${name} failed (${messageOf(error)})`);
  }
}

function failClosed(why: string): ApprovalNeed {
  return { needsApproval: true, reason: cut(`${why}, so a person must agree.`) };
}

const textMax = 8000;

/** The server refuses a lone surrogate, which the cut may leave too. */
export function cut(text: string, charactersMax = textMax): string {
  const short = text.length <= charactersMax ? text : `${text.slice(0, charactersMax)} …`;
  return short.toWellFormed();
}
