import type { StopEffect, StoppedCall, StopView } from '@countersign/contracts';
import { nameWords, printable, timeWords } from '@countersign/text';
import type { Line } from './line.js';
import { wrapped } from './line.js';

/** A stop: what it covers, who declared it and why, and whether it is in force. */
export function stopLines(stop: StopView, columns: number): Line[] {
  const { stopId, reason, declaredBy, declaredAt, liftedBy, liftedAt, liftReason } = stop;
  const isInForce = liftedAt === null;
  const state = isInForce ? 'in force' : 'lifted';
  return [
    ...wrapped(`${printable(stopId)}   ${state}   ${scopeWords(stop)}`, columns, isInForce ? 'red' : 'dim'),
    ...wrapped(`  ${nameWords(declaredBy)}, ${timeWords(declaredAt)}: ${printable(reason)}`, columns),
    ...(isInForce
      ? []
      : wrapped(
          `  lifted by ${nameWords(liftedBy ?? '')}, ${timeWords(liftedAt)}: ${printable(liftReason ?? '')}`,
          columns,
        )),
  ];
}

/** A stop, and the calls that it covers now. */
export function effectLines({ stop, running, held, waiting }: StopEffect, columns: number): Line[] {
  const isInForce = stop.liftedAt === null;
  return [
    ...stopLines(stop, columns),
    ...callLines('Still running; their leases are not renewed:', 'Nothing runs.', running, columns),
    ...callLines(isInForce ? 'May run once it is lifted:' : 'May run now:', 'No call is held back.', held, columns),
    ...wrapped(`Approvals that wait for people: ${String(waiting)}`, columns),
    ...(isInForce
      ? wrapped(`Lift it: countersign resume ${printable(stop.stopId)} --reason TEXT`, columns, 'dim')
      : []),
  ];
}

function callLines(title: string, none: string, calls: readonly StoppedCall[], columns: number): Line[] {
  if (calls.length === 0) return wrapped(none, columns);
  return [
    ...wrapped(title, columns, 'bold'),
    ...calls.map(({ callId, toolName, agentId, leaseUntil }): Line => {
      const until = leaseUntil === null ? '' : `  until ${timeWords(leaseUntil)} at the latest`;
      return { text: `  ${printable(callId)}  ${nameWords(toolName)}  ${nameWords(agentId)}${until}` };
    }),
  ];
}

/** The calls that a stop covers, in words. */
export function scopeWords({ scope: { tenant, agentId, toolName } }: StopView): string {
  const whose = tenant === null ? 'every tenant' : `tenant ${nameWords(tenant)}`;
  const agents = agentId === null ? 'every agent' : `agents ${nameWords(agentId)}`;
  const tools = toolName === null ? 'every tool' : `tools ${nameWords(toolName)}`;
  return `${whose}, ${agents}, ${tools}`;
}
