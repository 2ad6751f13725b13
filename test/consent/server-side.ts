import { setTimeout as delay } from 'node:timers/promises';
import type { ApprovalView, ClaimView } from '@countersign/contracts';
import { decisionBody } from './decision-body.ts';
import { grantBody, idOf, rememberBody, requestBody, runOfCommand } from './requests.ts';
import { refusedOf } from './server-shown.ts';
import { ServerView } from './server-view.ts';
import type { Looked } from './server-view.ts';
import { startServer } from './server.ts';
import type { Response, Server } from './server.ts';
import { fromArguments } from './shown.ts';
import { leaseMs, subjectName } from './subject.ts';
import type { Deciders, Subject } from './subject.ts';
import type { Answer, ApproveAll, Command, Policy, Respond } from './words.ts';

/** What an HTTP command came to. */
interface Done {
  readonly response: Response | null;
  readonly mayDecide?: boolean;
}

/** A running server. `look`: what it shows now. */
export interface ServerSubject extends Subject {
  readonly look: () => Promise<Looked>;
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
  readonly #view: ServerView;
  #policy: Policy;
  readonly #identities = new Map<string, string>();
  readonly #claims = new Map<number, { readonly attempt: number; readonly leaseUntil: number }>();
  #commands = 0;

  constructor(server: Server, policy: Policy) {
    this.#server = server;
    this.#view = new ServerView(server);
    this.#policy = policy;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  look(): Promise<Looked> {
    return this.#view.look();
  }

  deciders(): Promise<Deciders> {
    return this.#view.deciders();
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

  async #post(as: string, path: string, body: object, key = this.#nextKey()): Promise<Done> {
    return { response: await this.#view.send(as, 'POST', path, { body, key }) };
  }

  #nextKey(): string {
    this.#commands += 1;
    return `command-${String(this.#commands)}`;
  }

  async #execute(command: Command): Promise<Done> {
    switch (command.type) {
      case 'request':
        for (const { call } of command.calls) this.#view.requested.add(call);
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
        const path = `/v1/approvals/${this.#view.approvalOf(command.call)}/responses/mine`;
        return { response: await this.#view.send(command.by, 'DELETE', path, { key: this.#nextKey() }) };
      }
      case 'cancel':
        return this.#post(command.by, `/v1/tool-calls/${idOf(command.call)}/cancel`, { reason: 'no' });
      case 'cancel-run':
        return this.#post(command.by, `/v1/runs/${runOfCommand(command.run)}/cancel`, { reason: 'no' });
      case 'claim': {
        const path = `/v1/tool-calls/${idOf(command.call)}/claim`;
        return this.#post('worker', path, { resolverId: 'r', leaseMs }, command.key);
      }
      case 'extend': {
        const path = `/v1/tool-calls/${idOf(command.call)}/claim/renew`;
        return this.#post('worker', path, { attempt: command.attempt, leaseMs }, `renew-${String(command.attempt)}`);
      }
      case 'report': {
        const isRunning = this.#view.calls.get(command.call)?.state === 'executing';
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
        return this.#post(command.by, `/v1/grants/${this.#view.given[command.grant] ?? 'grn_none'}/confirm`, {});
      case 'revoke': {
        const path = `/v1/grants/${this.#view.given[command.grant] ?? 'grn_none'}`;
        return { response: await this.#view.send(command.by, 'DELETE', path, { key: this.#nextKey() }) };
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
      case 'drift':
        // The server of a world has the clock of its store.
        return { response: null };
      case 'remove':
        this.#server.remove(command.person);
        return { response: null };
      case 'renew':
        this.#server.renew(command.person);
        return { response: null };
      case 'desk':
        this.#server.desk(command);
        return { response: null };
      case 'end-person': {
        const path = `/v1/people/${encodeURIComponent(command.person)}`;
        return { response: await this.#view.send(command.by, 'DELETE', path, { key: this.#nextKey() }) };
      }
      case 'identify':
        this.#identities.set(command.person, command.as);
        return this.#follow();
      case 'policy':
        this.#policy = command.policy;
        return this.#follow();
    }
  }

  /** A person looks at the approval, and responds to what they were shown. */
  async #respond({ by, call, decision, seen, instruction, remember }: Respond): Promise<Done> {
    const approvalId = this.#view.approvalOf(call);
    const looked = await this.#view.send(by, 'GET', `/v1/approvals/${approvalId}`);
    const view = looked.status === 200 ? (looked.body as ApprovalView) : undefined;
    const digest = { first: this.#view.firstDigests.get(approvalId), current: view?.proposal.digest, none: undefined };
    const whole = { whole: view?.shownDigest, early: this.#view.firstWhole.get(approvalId) };
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
    const approvalIds = calls.map((call) => this.#view.approvalOf(call));
    for (const id of approvalIds) {
      const { status, body } = await this.#view.send(by, 'GET', `/v1/approvals/${id}`);
      const current = status === 200 ? (body as ApprovalView).proposal.digest : undefined;
      const digest = seen === 'first' ? this.#view.firstDigests.get(id) : current;
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
    if (grantId !== undefined && !this.#view.given.includes(grantId)) this.#view.given.push(grantId);
    return done;
  }

  #claimed(call: number, response: Response | null): Answer['claim'] {
    const { attempt, arguments: args, leaseUntil } = (response as Response).body as ClaimView;
    this.#claims.set(call, { attempt, leaseUntil: Date.parse(leaseUntil) });
    return { ...fromArguments(args), attempt, instruction: this.#view.calls.get(call)?.instruction ?? null };
  }

  async #follow(): Promise<Done> {
    await this.#server.follow(this.#policy, this.#identities);
    return this.#wait(500);
  }

  /** Moves the clock, and waits until the server has done what is due. */
  async #wait(ms: number): Promise<Done> {
    this.#server.clock.advance(ms);
    for (let looks = 0; looks < 400; looks += 1) {
      await this.#view.read();
      if (!this.#isBehind()) return { response: null };
      await delay(1);
    }
    throw new Error('the server does not do what is due');
  }

  #isBehind(): boolean {
    const now = this.#server.clock.now();
    return [...this.#view.calls].some(([call, { state, approval }]) => {
      const [next] = approval?.upcoming ?? [];
      if (approval?.state === 'pending' && next !== undefined) return Date.parse(next.at) <= now;
      return state === 'executing' && (this.#claims.get(call)?.leaseUntil ?? Infinity) <= now;
    });
  }
}
