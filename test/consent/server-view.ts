import { approvalIdOf } from '@countersign/contracts';
import type { ApprovalView, GrantView, ToolCallView } from '@countersign/contracts';
import { idOf } from './requests.ts';
import { mustHaveStatus, toShown } from './server-shown.ts';
import type { Response, Sent, Server } from './server.ts';
import type { Deciders } from './subject.ts';
import type { Answer } from './words.ts';
import { deskPeople, people } from './world.ts';

/** Those who may see hidden values: the agents their own, and the worker that runs the call. */
const seers: readonly string[] = ['agent', 'other', 'worker'];

/** What everybody is shown. */
export type Looked = Pick<Answer, 'calls' | 'grants' | 'leaked'>;

/** What a server shows, over HTTP, and what people may remember of it. */
export class ServerView {
  readonly #server: Server;
  readonly calls = new Map<number, ToolCallView>();
  readonly requested = new Set<number>();
  /** The grants that were given, by their numbers. */
  readonly given: string[] = [];
  /** The digests of the first proposal of each approval. */
  readonly firstDigests = new Map<string, string>();
  readonly firstWhole = new Map<string, string>();
  /** The digests of the arguments that were requested. */
  readonly #requestDigests = new Map<number, string>();
  #grants: GrantView[] = [];
  #leaked: string | null = null;

  constructor(server: Server) {
    this.#server = server;
  }

  async look(): Promise<Looked> {
    await this.read();
    return {
      calls: new Map(
        [...this.calls].map(([call, view]) => [call, toShown(view, this.given, this.#requestDigests.get(call))]),
      ),
      grants: this.#grants.map(({ state, uses }) => ({ isActive: state === 'active', uses })),
      leaked: this.#leaked,
    };
  }

  async deciders(): Promise<Deciders> {
    const all = new Map<number, string[]>();
    for (const person of [...Object.keys(people), ...Object.keys(deskPeople)]) {
      const { status, body } = await this.send(person, 'GET', '/v1/approvals?state=pending&limit=100');
      // The token of the person is gone.
      if (status === 401) continue;
      for (const { callId, mayDecide } of (body as { approvals: ApprovalView[] }).approvals) {
        const call = [...this.requested].find((one) => idOf(one) === callId);
        if (call !== undefined && mayDecide?.now === true) all.set(call, [...(all.get(call) ?? []), person]);
      }
    }
    return all;
  }

  async send(as: string, method: string, path: string, sent: Sent = {}): Promise<Response> {
    const response = await this.#server.send(as, method, path, sent);
    mustHaveStatus(response);
    const hidden = /hunter-\w+/.exec(JSON.stringify(response.body));
    if (hidden !== null && !seers.includes(as) && !path.startsWith('/v1/grants')) {
      this.#leaked ??= `${as} ${method} ${path}: ${hidden[0]}`;
    }
    return response;
  }

  approvalOf(call: number): string {
    return this.calls.get(call)?.approval?.approvalId ?? approvalIdOf(idOf(call), 1);
  }

  async read(): Promise<void> {
    const { body } = await this.send('admin', 'GET', '/v1/tool-calls?limit=100');
    const views = (body as { calls: ToolCallView[] }).calls;
    for (const call of this.requested) {
      const view = views.find(({ callId }) => callId === idOf(call));
      if (view === undefined) continue;
      this.calls.set(call, view);
      const { approval, actionDigest } = view;
      if (!this.#requestDigests.has(call)) this.#requestDigests.set(call, actionDigest);
      if (approval?.proposal.number !== 1 || this.firstDigests.has(approval.approvalId)) continue;
      this.firstDigests.set(approval.approvalId, approval.proposal.digest);
      this.firstWhole.set(approval.approvalId, approval.shownDigest);
    }
    if (this.given.length === 0) return;
    const listed = await this.send('admin', 'GET', '/v1/grants?limit=100');
    const { grants } = listed.body as { grants: GrantView[] };
    this.#grants = this.given.flatMap((id) => grants.find(({ grantId }) => grantId === id) ?? []);
  }
}
