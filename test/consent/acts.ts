// What people, agents and workers do, in short: of call 1, unless another is named.

import type { ApproveAll, Command, Decision, Grant, Request, Respond } from './words.ts';

export const ask1 = { inside: null, secret: null } as const;
export const request = (amount: number, expiresIn: number | null = null, call = 1): Request => ({
  ...{ type: 'request', by: 'agent', as: 'agent', calls: [{ call, amount, ...ask1 }], batch: null },
  ...{ inTurn: false, wants: false, expiresIn, onBehalfOf: null },
});
export const respond = (
  by: string,
  decision: Decision,
  instruction: string | null = null,
  seen: Respond['seen'] = 'current',
): Respond => ({ type: 'respond', call: 1, by, decision, seen, instruction, remember: null });
export const approve = (by: string, instruction: string | null = null, call = 1): Command => ({
  ...respond(by, { type: 'approve' }, instruction),
  call,
});
export const approveAll = (by: string, calls: readonly number[], seen: ApproveAll['seen'] = 'current'): Command => ({
  ...{ type: 'approve-all', by, calls, seen },
});
export const deny = (by: string): Command => respond(by, { type: 'deny' });
export const edit = (by: string, amount: number): Respond => respond(by, { type: 'edit', amount, secret: null });
export const withdraw = (by: string): Command => ({ type: 'withdraw', call: 1, by });
export const wait = (seconds: number): Command => ({ type: 'wait', seconds });
export const ask: Extract<Command, { type: 'ask' }> = { type: 'ask', call: 1, by: 'agent', expiresIn: null };
export const claim = (key = 'k1', call = 1): Command => ({ type: 'claim', call, key });
export const identify: Command = { type: 'identify', person: 'amy@corp.example', as: 'amy' };

export const withSecret = (one: Request, secret: string): Request => ({
  ...one,
  calls: one.calls.map((asked) => ({ ...asked, secret })),
});
export const ofOther = (one: Request): Request => ({ ...one, by: 'other', as: 'agent' });
export const grantOf = (by: string, change: Partial<Grant> = {}): Grant => ({
  ...{ type: 'grant', by, match: { of: 'any' }, run: null, as: null, of: null, expiresIn: 600, maxUses: null },
  ...change,
});
