import { createEmailTokens, digestStartOf } from '@countersign/channels';
import type {
  AnswerTokens,
  ChannelAnswer,
  ChannelsConfig,
  Notice,
  PeopleNow,
  Person,
  TokenContent,
} from '@countersign/channels';
import type { Actor } from '@countersign/commands';
import { decisionTypes, jsonObjectSchema } from '@countersign/contracts';
import type { ApprovalView } from '@countersign/contracts';
import { ProblemError } from '@countersign/shell';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { refuseForeignOrigin, refuseForgedRequest } from '../inbox/same-origin.js';
import { sessionIdOf } from '../inbox/session-cookie.js';
import type { GatewayPorts } from '../ports.js';
import { parseWith } from '../validation.js';
import { mailCardOf } from './mail-card.js';
import { actorOf, createResponsePort } from './response-port.js';
import { channelsTenant } from './approvers.js';
import { mailPage, mailPageHeaders, mailScript, mailStyle } from './mail-page.js';

const responseSchema = z.strictObject({
  decision: z.discriminatedUnion('type', [
    z.strictObject({ type: z.enum(decisionTypes).extract(['approve', 'deny']) }),
    z.strictObject({ type: z.literal('edit'), arguments: jsonObjectSchema }),
  ]),
  reason: z.string().max(8192).optional(),
  /** Of a denial: the proposal that the page showed. */
  proposalDigest: z.string().max(100).optional(),
});

type MailResponse = z.output<typeof responseSchema>;

interface Opened {
  readonly actor: Actor;
  readonly person: Person;
  readonly channelId: string;
  readonly token: TokenContent;
}

/**
 * The pages of links in emails. `GET /a/<token>` returns the same page for every token and visitor. A link scanner that
 * opens it, runs its script and follows its links changes nothing. The card and the decision need the session of the
 * person whom the link was made for.
 */
export function addMailRoutes(
  fastify: FastifyInstance,
  ports: GatewayPorts & { readonly people: PeopleNow },
  config: Pick<ChannelsConfig, 'channels'>,
  publicUrl: URL | undefined,
): void {
  // `openLink` asks the session of the person.
  const responses = createResponsePort({ ...ports, isApprover: () => true });
  const links = config.channels.flatMap((channel) =>
    channel.type === 'email' ? [{ channelId: channel.id, tokens: createEmailTokens(channel) }] : [],
  );
  if (links.length === 0) return;
  const open = (request: FastifyRequest): Opened => openLink({ ...ports, publicUrl }, ports.people(), links, request);
  fastify.get('/a/:token', (_request, reply) => page(reply, 'text/html', mailPage));
  fastify.get('/a/page.js', (_request, reply) => page(reply, 'text/javascript', mailScript));
  fastify.get('/a/page.css', (_request, reply) => page(reply, 'text/css', mailStyle));
  fastify.get('/a/:token/card', async (request, reply) => {
    refuseForeignOrigin(request, publicUrl);
    const opened = open(request);
    const { token, person } = opened;
    const question = await responses.find(token.approvalId);
    const approval = question?.approval;
    if (question === undefined || !approval) throw gone();
    const isChanged = digestStartOf(approval.shownDigest) !== token.digestStart;
    const notice = {
      ...question,
      kind: 'requested',
      nth: 0,
      messageId: '',
      at: '',
      recipient: person,
      approval,
    } as const;
    const card = await mailCardOf(ports, actorOf(answererOf(opened)), notice, isChanged);
    return json(reply, { ...question, ...card, person: person.id, isChanged });
  });
  fastify.post('/a/:token/response', async (request, reply) => {
    refuseForgedRequest(request, publicUrl);
    const opened = open(request);
    const question = await responses.find(opened.token.approvalId);
    const approval = question?.approval;
    if (question === undefined || !approval) throw gone();
    const response = parseWith(responseSchema, request.body);
    refuseChanged({ ...question, approval }, opened.token, response);
    const result = await responses.answer(toAnswer(opened, approval, response, ports.ids.uuid()));
    if (result.status === 'refused') {
      const extra = result.winner === undefined ? {} : { ...result.winner };
      throw new ProblemError(result.code as 'already-resolved', result.detail, { extra });
    }
    return json(reply, { state: (await responses.find(approval.approvalId))?.approval?.state ?? 'pending' });
  });
}

/**
 * Refuses a response to another card than that of the mail. A denial is one of the call that the page has shown, since it only restricts.
 * Attack: somebody tells the agent something or withdraws, so that each "no" by the link of a mail is one to an earlier card.
 */
function refuseChanged(
  { approval, together = [] }: Pick<Notice, 'together'> & { readonly approval: ApprovalView },
  { digestStart }: TokenContent,
  { decision, proposalDigest }: MailResponse,
): void {
  if (approval.state !== 'pending' || digestStartOf(approval.shownDigest) === digestStart) return;
  const isOfShown = together.length === 0 && proposalDigest === approval.proposal.digest;
  if (decision.type === 'deny' && isOfShown) return;
  throw new ProblemError('digest-mismatch', 'it was changed since the mail was sent: look at the inbox');
}

/** The person is signed in, so the groups of the session count in addition to those of the channels file. */
function answererOf({ person, actor, channelId }: Opened): Parameters<typeof actorOf>[0] {
  const groups = [...new Set([...person.groups, ...actor.groups])];
  return {
    ...{ channelId, credential: `mail:${person.email ?? person.id}`, assurance: actor.assurance },
    person: { ...person, groups },
    ...(actor.session !== undefined && { session: actor.session }),
  };
}

function toAnswer(
  opened: Opened,
  { approvalId, shownDigest }: ApprovalView,
  { decision, reason, proposalDigest }: MailResponse,
  commandId: string,
): ChannelAnswer {
  return {
    ...{ ...answererOf(opened), approvalId, shownDigest, commandId },
    decision: decision.type === 'edit' ? { type: 'edit', argumentsText: JSON.stringify(decision.arguments) } : decision,
    ...(reason === undefined ? {} : { reason }),
    ...(proposalDigest === undefined ? {} : { proposalDigest }),
  };
}

/** The person must be signed in, be an approver, and be the recipient of the email: a forwarded link does not work. */
function openLink(
  { sessions, publicUrl }: Pick<GatewayPorts, 'sessions'> & { readonly publicUrl: URL | undefined },
  people: readonly Person[],
  links: readonly { readonly channelId: string; readonly tokens: AnswerTokens }[],
  request: FastifyRequest,
): Opened {
  const id = sessionIdOf(request, publicUrl);
  const actor = id === undefined ? undefined : sessions?.actorOf(id);
  if (actor === undefined) throw new ProblemError('unauthenticated', 'sign in first');
  const person = people.find((one) => one.id === actor.principal);
  const { token: text } = request.params as { readonly token: string };
  if (person === undefined || actor.tenant !== channelsTenant || !actor.roles.has('approver')) throw gone();
  for (const { channelId, tokens } of links) {
    const token = tokens.open(text, person.id);
    if (token !== undefined) return { actor, person, channelId, token };
  }
  throw gone();
}

/** One error for every problem with a link, so that it reveals nothing about other people's links. */
function gone(): ProblemError {
  return new ProblemError('not-found', 'this link is not for you, or there is nothing behind it (any more)');
}

function page(reply: FastifyReply, type: string, text: string): void {
  void reply.headers(mailPageHeaders).header('content-type', `${type}; charset=utf-8`).send(text);
}

function json(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}
