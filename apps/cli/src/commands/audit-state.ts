import type { GrantView, PersonAt, StopView, ToolCallView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { wrapped } from '../view/line.js';
import { scopeWords } from '../view/stop-lines.js';

interface StateAt {
  readonly asOf: string;
  readonly policy: { readonly policyVersion: string; readonly activatedBy: string } | null;
  readonly calls: readonly ToolCallView[];
  readonly grants: readonly GrantView[];
  readonly rights: readonly { readonly principal: string; readonly roles: readonly string[] }[];
  /** An older server does not say these. */
  readonly people?: readonly PersonAt[];
  readonly stops?: readonly StopView[];
  readonly unreadable?: readonly number[];
  readonly complete: boolean;
}

/** `countersign audit state`: prints how the tenant stood at a moment. */
export async function auditState(invocation: Invocation, { asOf }: { readonly asOf?: string }): Promise<ExitCode> {
  const { client, columns } = invocation;
  const query = asOf === undefined ? '' : `?asOf=${encodeURIComponent(asOf)}`;
  const state = await client.get<StateAt>(`/v1/audit/state${query}`);
  invocation.printJson(state);
  invocation.print(...stateLines(state).flatMap((line) => wrapped(printable(line), columns, undefined, 2)));
  return exitCodes.ok;
}

function stateLines(state: StateAt): readonly string[] {
  const { asOf, policy, calls, grants, rights, people = [], stops = [], unreadable = [], complete } = state;
  return [
    `as of ${asOf}`,
    policy === null ? 'policy: built in' : `policy: ${policy.policyVersion}, put in force by ${policy.activatedBy}`,
    `stops: ${String(stops.length)}`,
    ...stops.map(stopLine),
    `open calls: ${String(calls.length)}`,
    ...calls.map(({ callId, toolName, state, agentId }) => `  ${callId}  ${toolName}  ${state}  ${agentId}`),
    `grants: ${String(grants.length)}`,
    ...grants.map(({ grantId, toolName, state, createdBy }) => `  ${grantId}  ${toolName}  ${state}  by ${createdBy}`),
    `credentials: ${String(rights.length)}`,
    ...rights.map(({ principal, roles }) => `  ${principal}  ${roles.join(', ')}`),
    `people of the policy: ${String(people.length)}`,
    ...people.map(personLine),
    ...(unreadable.length === 0 ? [] : [`These events cannot be read, and are not counted: ${unreadable.join(', ')}`]),
    ...(complete ? [] : ['There were more calls or grants than these.']),
  ];
}

function stopLine(stop: StopView): string {
  return `  ${stop.stopId}  ${scopeWords(stop)}  by ${stop.declaredBy} at ${stop.declaredAt}: ${stop.reason}`;
}

function personLine({ principal, groups, delegates }: PersonAt): string {
  const given = groups.length === 0 ? 'no group' : groups.join(', ');
  return [
    `  ${principal}  ${given}`,
    ...delegates.map(({ to, until }) => `${to} answers for them until ${until}`),
  ].join('; ');
}
