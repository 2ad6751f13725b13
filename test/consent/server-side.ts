import { setTimeout as delay } from 'node:timers/promises';
import { approvalIdOf, shownDigest } from '@countersign/contracts';
import type { ApprovalView, ClaimView, GrantView, ToolCallView } from '@countersign/contracts';
import { decisionBody } from './decision-body.ts';
import { grantBody, idOf, rememberBody, requestBody, runOfCommand } from './requests.ts';
import { startServer } from './server.ts';
import type { Response, Sent, Server } from './server.ts';
import { fromArguments, fromOutput } from './shown.ts';
import { leaseMs, subjectName } from './subject.ts';
import type { Deciders, Subject } from './subject.ts';
import type { Answer, ApproveAll, Command, Policy, Respond, Shown } from './words.ts';
import { people } from './world.ts';

/** What an HTTP command came to. */
interface Done {
  readonly response: Response | null;
  readonly mayDecide?: boolean;
}

/** Those who may see hidden values: the agents their own, and the worker that runs the call. */
const seers: readonly string[] = ['agent', 'other', 'worker'];

/** A running server. `look`: what it shows now. */
export interface ServerSubject extends Subject {
  readonly look: () => Promise<Pick<Answer, 'calls' | 'grants' | 'leaked'>>;
}

/** A running server, driven over HTTP. */
export async function openServerSide(first: Policy): Promise<ServerSubject> {
  const side = new ServerSide(await startServer(first), first);
  return {
    run: (command) => side.run(command),
    look: () => side.look(),
    deciders: () => side.deciders(),
    close: () => side.close(),
  };
}

class ServerSide {
  readonly #server: Server;
  #policy: Policy;
  readonly #identities = new Map<string, string>();
  readonly #calls = new Map<number, ToolCallView>();
  readonly #requested = new Set<number>();
  #grants: GrantView[] = [];
  readonly #given: string[] = [];
  readonly #claims = new Map<number, { readonly attempt: number; readonly leaseUntil: number }>();
  readonly #firstDigests = new Map<string, string>();
  readonly #firstWhole = new Map<string, string>();
  /** The digests of the arguments that were requested. */
  readonly #requestDigests = new Map<number, string>();
  #leaked: string | null = null;
  #commands = 0;

  constructor(server: Server, policy: Policy) {
    this.#server = server;
    this.#policy = policy;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async run(command: Command): Promise<Answer> {
    const { response, mayDecide } = await this.#execute(command);
    const shown = await this.look();
    const isDone = response === null || response.status < 300;
    const claim = command.type === 'claim' && isDone ? this.#claimed(command.call, response) : undefined;
    return {
      refused: isDone ? refusedOf(response) : (response.body as { code: string }).code,
      ...shown,
      ...(claim !== undefined && { claim }),
      ...(mayDecide !== undefined && { mayDecide }),
    };
  }

  async look(): ReturnType<ServerSubject['look']> {
    await this.#read();
    return {
      calls: new Map([...this.#calls].map(([call, view]) => [call, this.#toShown(call, view)])),
      grants: this.#grants.map(({ state, uses }) => ({ isActive: state === 'active', uses })),
      leaked: this.#leaked,
    };
  }

  async deciders(): Promise<Deciders> {
    const all = new Map<number, string[]>();
    for (const person of Object.keys(people)) {
      const { status, body } = await this.#send(person, 'GET', '/v1/approvals?state=pending&limit=100');
      // The token of the person is gone.
      if (status === 401) continue;
      for (const { callId, mayDecide } of (body as { approvals: ApprovalView[] }).approvals) {
        const call = [...this.#requested].find((one) => idOf(one) === callId);
        if (call !== undefined && mayDecide?.now === true) all.set(call, [...(all.get(call) ?? []), person]);
      }
    }
    return all;
  }

  async #send(as: string, method: string, path: string, sent: Sent = {}): Promise<Response> {
    const response = await this.#server.send(as, method, path, sent);
    mustHaveStatus(response);
    const hidden = /hunter-\w+/.exec(JSON.stringify(response.body));
    if (hidden !== null && !seers.includes(as) && !path.startsWith('/v1/grants')) {
      this.#leaked ??= `${as} ${method} ${path}: ${hidden[0]}`;
    }
    return response;
  }

  async #post(as: string, path: string, body: object, key = this.#nextKey()): Promise<Done> {
    return { response: await this.#send(as, 'POST', path, { body, key }) };
  }

  #nextKey(): string {
    this.#commands += 1;
    return `command-${String(this.#commands)}`;
  }

  async #execute(command: Command): Promise<Done> {
    switch (command.type) {
      case 'request':
        for (const { call } of command.calls) this.#requested.add(call);
        return this.#post(command.by, '/v1/tool-calls', requestBody(command));
      case 'ask': {
        const body = command.expiresIn === null ? {} : { expiresInMs: command.expiresIn * 1_000 };
        return this.#post(command.by, `/v1/tool-calls/${idOf(command.call)}/approvals`, body);
      }
      case 'respond':
        return this.#respond(command);
      case 'approve-all':
        return this.#approveAll(command);
      case 'output': {
        const body = { status: 'succeeded', output: 'paid' };
        return this.#post(command.by, `/v1/tool-calls/${idOf(command.call)}/output`, body);
      }
      case 'withdraw': {
        const path = `/v1/approvals/${this.#approvalOf(command.call)}/responses/mine`;
        return { response: await this.#send(command.by, 'DELETE', path, { key: this.#nextKey() }) };
      }
      case 'cancel':
        return this.#post(command.by, `/v1/tool-calls/${idOf(command.call)}/cancel`, { reason: 'no' });
      case 'cancel-run':
        return this.#post(command.by, `/v1/runs/${runOfCommand(command.run)}/cancel`, { reason: 'no' });
      case 'claim': {
        const path = `/v1/tool-calls/${idOf(command.call)}/claim`;
        return this.#post('worker', path, { resolverId: 'r', leaseMs }, command.key);
      }
      case 'report': {
        const isRunning = this.#calls.get(command.call)?.state === 'executing';
        const attempt = isRunning ? (this.#claims.get(command.call)?.attempt ?? 1) : 1;
        const body = { attempt, status: 'succeeded', output: 'paid' };
        return this.#post('worker', `/v1/tool-calls/${idOf(command.call)}/outcome`, body);
      }
      case 'reconcile': {
        const body = { status: command.as, note: 'looked it up' };
        return this.#post('admin', `/v1/tool-calls/${idOf(command.call)}/reconcile`, body);
      }
      case 'grant':
        return this.#granted(await this.#post(command.by, '/v1/grants', grantBody(command)));
      case 'confirm':
        return this.#post(command.by, `/v1/grants/${this.#given[command.grant] ?? 'grn_none'}/confirm`, {});
      case 'revoke': {
        const path = `/v1/grants/${this.#given[command.grant] ?? 'grn_none'}`;
        return { response: await this.#send(command.by, 'DELETE', path, { key: this.#nextKey() }) };
      }
      case 'erase': {
        const { of, force } = command;
        const body = { subject: subjectName, force, ...(of !== null && { requestedBy: of }) };
        return this.#post('admin', '/v1/subjects/erase', body);
      }
      case 'wait':
        return this.#wait(command.seconds * 1_000);
      case 'stop':
        // As the machine that was suspended: the process notices half a second later.
        this.#server.clock.jump(command.seconds * 1_000 - 500);
        return this.#wait(500);
      case 'restart':
        await this.#server.restart();
        return this.#wait(0);
      case 'remove':
        this.#server.remove(command.person);
        return { response: null };
      case 'renew':
        this.#server.renew(command.person);
        return { response: null };
      case 'identify':
        this.#identities.set(command.as, command.person);
        return this.#follow();
      case 'policy':
        this.#policy = command.policy;
        return this.#follow();
    }
  }

  #approvalOf(call: number): string {
    return this.#calls.get(call)?.approval?.approvalId ?? approvalIdOf(idOf(call), 1);
  }

  /** A person looks at the approval, and responds to what they were shown. */
  async #respond({ by, call, decision, seen, instruction, remember }: Respond): Promise<Done> {
    const approvalId = this.#approvalOf(call);
    const looked = await this.#send(by, 'GET', `/v1/approvals/${approvalId}`);
    const view = looked.status === 200 ? (looked.body as ApprovalView) : undefined;
    const digest = { first: this.#firstDigests.get(approvalId), current: view?.proposal.digest, none: undefined };
    const whole = { whole: view?.shownDigest, early: this.#firstWhole.get(approvalId) };
    const isWhole = seen === 'whole' || seen === 'early';
    const mask = (view?.arguments as { readonly password?: string } | undefined)?.password ?? null;
    const done = await this.#post(by, `/v1/approvals/${approvalId}/responses`, {
      decision: decisionBody(decision, mask),
      ...(instruction !== null && { instruction }),
      ...(isWhole ? { shownDigest: whole[seen] } : { proposalDigest: digest[seen] }),
      ...(remember !== null && { remember: rememberBody(remember) }),
    });
    if (looked.status === 401) return done;
    return { ...this.#granted(done), mayDecide: view?.mayDecide?.now ?? false };
  }

  /** A person looks at all of the approvals, and approves them at once. */
  async #approveAll({ by, calls, seen }: ApproveAll): Promise<Done> {
    const shown: Record<string, string> = {};
    const approvalIds = calls.map((call) => this.#approvalOf(call));
    for (const id of approvalIds) {
      const { status, body } = await this.#send(by, 'GET', `/v1/approvals/${id}`);
      const current = status === 200 ? (body as ApprovalView).proposal.digest : undefined;
      const digest = seen === 'first' ? this.#firstDigests.get(id) : current;
      if (digest !== undefined) shown[id] = digest;
    }
    const body = { approvalIds, decision: { type: 'approve' }, mode: 'all-or-nothing', proposalDigests: shown };
    return this.#post(by, '/v1/approvals/responses', body);
  }

  #granted(done: Done): Done {
    const body = done.response?.body as {
      readonly grantId?: string;
      readonly grant?: { readonly grantId: string };
    } | null;
    const grantId = body?.grant?.grantId ?? body?.grantId;
    if (grantId !== undefined && !this.#given.includes(grantId)) this.#given.push(grantId);
    return done;
  }

  #claimed(call: number, response: Response | null): Answer['claim'] {
    const { attempt, arguments: args, leaseUntil } = (response as Response).body as ClaimView;
    this.#claims.set(call, { attempt, leaseUntil: Date.parse(leaseUntil) });
    return { ...fromArguments(args), attempt, instruction: this.#calls.get(call)?.instruction ?? null };
  }

  async #follow(): Promise<Done> {
    await this.#server.follow(this.#policy, this.#identities);
    return this.#wait(500);
  }

  /** Moves the clock, and waits until the server has done what is due. */
  async #wait(ms: number): Promise<Done> {
    this.#server.clock.advance(ms);
    for (let looks = 0; looks < 400; looks += 1) {
      await this.#read();
      if (!this.#isBehind()) return { response: null };
      await delay(1);
    }
    throw new Error('the server does not do what is due');
  }

  #isBehind(): boolean {
    const now = this.#server.clock.now();
    return [...this.#calls].some(([call, { state, approval }]) => {
      const [next] = approval?.upcoming ?? [];
      if (approval?.state === 'pending' && next !== undefined) return Date.parse(next.at) <= now;
      return state === 'executing' && (this.#claims.get(call)?.leaseUntil ?? Infinity) <= now;
    });
  }

  async #read(): Promise<void> {
    const { body } = await this.#send('admin', 'GET', '/v1/tool-calls?limit=100');
    const views = (body as { calls: ToolCallView[] }).calls;
    for (const call of this.#requested) {
      const view = views.find(({ callId }) => callId === idOf(call));
      if (view === undefined) continue;
      this.#calls.set(call, view);
      const { approval, actionDigest } = view;
      if (!this.#requestDigests.has(call)) this.#requestDigests.set(call, actionDigest);
      if (approval?.proposal.number !== 1 || this.#firstDigests.has(approval.approvalId)) continue;
      this.#firstDigests.set(approval.approvalId, approval.proposal.digest);
      this.#firstWhole.set(approval.approvalId, approval.shownDigest);
    }
    if (this.#given.length === 0) return;
    const listed = await this.#send('admin', 'GET', '/v1/grants?limit=100');
    const { grants } = listed.body as { grants: GrantView[] };
    this.#grants = this.#given.flatMap((id) => grants.find(({ grantId }) => grantId === id) ?? []);
  }

  #toShown(call: number, view: ToolCallView): Shown {
    const { approval, state, instruction, verdict } = view;
    // A call that was cancelled, or is asked about after all, keeps its verdict, and the grant permits it no more.
    const isPermitted = !unpermitted.includes(state);
    const grantId = verdict.outcome === 'allow' && isPermitted ? verdict.grantId : undefined;
    return {
      ...{ state, instruction, waits: view.waitsForTurn === true, ...seen(view.arguments) },
      grant: grantId === undefined ? null : this.#given.indexOf(grantId),
      approval: approval === null ? null : toShownApproval(approval, this.#requestDigests.get(call)),
    };
  }
}

const unpermitted: readonly ToolCallView['state'][] = ['awaiting_approval', 'denied', 'cancelled', 'expired'];

const statuses: Readonly<Record<string, number>> = {
  ...{ 'invalid-request': 400, unauthenticated: 401, forbidden: 403, 'own-request': 403, 'not-an-approver': 403 },
  ...{ 'not-found': 404, 'unknown-approval': 404, expired: 410, 'decision-not-allowed': 422, 'too-many-requests': 429 },
};

/** Each code has its status; one that is not listed has 409. */
function mustHaveStatus({ status, body }: Response): void {
  if (status < 300) return;
  const { code } = body as { readonly code: string };
  if (status !== (statuses[code] ?? 409)) throw new Error(`${code} has the status ${String(status)}`);
}

/** Why a call of a run could not be cancelled, or one of several approvals not be answered. */
function refusedOf(response: Response | null): string | null {
  type Refused = readonly { readonly code?: string; readonly problem?: { readonly code: string } }[];
  const body = response?.body as { readonly notCancelled?: Refused; readonly results?: Refused } | null | undefined;
  return body?.notCancelled?.[0]?.code ?? body?.results?.find(({ problem }) => problem)?.problem?.code ?? null;
}

function seen(args: unknown) {
  const { amount, secret } = fromArguments(args);
  return { amount, hides: secret !== null };
}

function toShownApproval(approval: ApprovalView, requestDigest: string | undefined): Shown['approval'] {
  const { state, round, proposal, responses, instructions } = approval;
  const { number, digest, kind, output } = proposal;
  const shown = instructions.map(({ ifDenied, ...one }) => ({ ...one, ...(ifDenied === true && { ifDenied }) }));
  if (approval.shownDigest !== shownDigest(digest, shown)) throw new Error('the digest is not of what is shown');
  return {
    ...{ state, round, proposal: number, digest },
    content: kind === 'answer' ? { kind, ...fromOutput(output) } : { kind, ...seen(approval.arguments) },
    isRequest: approval.actionDigest === requestDigest,
    instructions: instructions.map(({ instruction }) => instruction),
    inPlaceOf: responses.at(-1)?.onBehalfOf ?? null,
  };
}
