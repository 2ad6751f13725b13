import {
  isSettled,
  otherDefinition,
  otherSchema,
  placeLabelsOf,
  type RequestedCall,
  type RequestToolCalls,
} from '@countersign/contracts';
import { inputSchemaOf, isSameJson } from '../tools/schema.js';
import { newFakeCalls, type FakeCall } from './fake-calls.js';
import { ask, block, cancel, endBatch, type FakeLedger } from './fake-life.js';
import { refuse } from './fake-problem.js';

/** Records the calls of one model step, all or none. */
export async function requestCalls(ledger: FakeLedger, body: RequestToolCalls): Promise<Response> {
  const made = newFakeCalls(body);
  const errors = (await Promise.all(made.map(errorsOf))).flat();
  if (errors.length > 0) return refuse('invalid-arguments', { errors });
  const pairs = made.map((call) => ({ call, known: ledger.calls.get(call.view.callId) }));
  const difference = pairs
    .map(({ call, known }) => known && differenceOf(known, call))
    .find((how) => how !== undefined);
  if (difference !== undefined) {
    return refuse('tool-call-mismatch', { detail: `The same tool call is already recorded ${difference}.` });
  }
  for (const { call, known } of pairs) recordCall(ledger, known ?? call, call);
  for (const { call } of pairs) if (call.view.state === 'blocked') endBatch(ledger, call);
  const calls = made.flatMap(({ view }) => ledger.calls.get(view.callId)?.view ?? []);
  return Response.json({ calls }, { status: pairs.every(({ known }) => known !== undefined) ? 200 : 201 });
}

function recordCall(ledger: FakeLedger, call: FakeCall, { request }: FakeCall): void {
  const { calls, log } = ledger;
  const isNew = !calls.has(call.view.callId);
  if (isNew) {
    calls.set(call.view.callId, call);
    log.record(call, 'ToolCallRequested');
  }
  if (isNew && request.deny !== undefined) block(ledger, call, request.deny);
  else if (request.deny !== undefined && isOpen(call)) cancel(ledger, call, request.deny);
  else if (request.deny === undefined && isStricter(call, request)) ask(ledger, call, request);
  else if (isNew) log.record(call, 'ToolCallAllowed');
}

/** The worker flags a call that is allowed. */
function isStricter({ view }: FakeCall, { needsApproval }: FakeCall['request']): boolean {
  return needsApproval === true && view.approval === null && view.state !== 'blocked';
}

/** The call may still run, and nothing has claimed it. */
function isOpen({ view: { state }, claim }: FakeCall): boolean {
  return claim === null && (state === 'allowed' || state === 'awaiting_approval' || state === 'approved');
}

async function errorsOf({ request }: FakeCall, index: number): Promise<readonly object[]> {
  if (request.toolSchema === undefined) return [];
  const parsed = await inputSchemaOf(request.toolSchema).parse(request.arguments);
  if (parsed.valid) return [];
  const place = `calls.${String(index)}.arguments`;
  return parsed.issues.map(({ path, message }) => ({ path: `${place}${path.replaceAll('/', '.')}`, message }));
}

/** How a request differs from the recorded call; undefined: it is the same. */
function differenceOf(known: FakeCall, made: FakeCall): string | undefined {
  const [one, other] = [known.request, made.request];
  const place = otherPlace(one.labels, other.labels);
  const hasOtherSchema = known.digestInput.toolSchemaHash !== made.digestInput.toolSchemaHash;
  const differences: readonly (readonly [isDifferent: boolean, how: string])[] = [
    [known.view.agentId !== made.view.agentId, 'for another agent'],
    [one.toolName !== other.toolName, 'for another tool'],
    [place !== undefined && place !== otherDefinition, place ?? ''],
    [hasOtherSchema && isSameJson(one.arguments, other.arguments), otherSchema],
    [known.requestedDigest !== made.requestedDigest, 'with other arguments'],
    [one.idempotent !== other.idempotent, 'with another `idempotent`'],
    [one.clientExecuted !== other.clientExecuted, 'with another `clientExecuted`'],
    [!isSameBatch(known, made) && !isNamedAgain(known, made), 'in another batch'],
    [
      other.deny !== undefined && known.claim !== null && !isSettled(known.view.state),
      'without `deny`, and it was claimed',
    ],
    [
      other.deny === undefined && isStricter(known, other) && known.view.state !== 'allowed',
      'without `needsApproval`, and it was claimed',
    ],
  ];
  return differences.find(([isDifferent]) => isDifferent)?.[1] ?? place;
}

function otherPlace(one: RequestedCall['labels'] = {}, other: RequestedCall['labels'] = {}): string | undefined {
  const { mcpDefinition, ...place } = placeLabelsOf(one);
  const { mcpDefinition: definition, ...placeNow } = placeLabelsOf(other);
  if (!isSameJson(place, placeNow)) return 'for another place';
  return mcpDefinition === definition ? undefined : otherDefinition;
}

/** A later step names a call that has ended. */
function isNamedAgain(known: FakeCall, made: FakeCall): boolean {
  const isIndependent = [known, made].every(({ batch }) => (batch?.mode ?? 'independent') === 'independent');
  return isIndependent && isSettled(known.view.state);
}

/** Independent calls may be requested again in another company. */
function isSameBatch(known: FakeCall, made: FakeCall): boolean {
  const mode = ({ batch }: FakeCall) => batch?.mode ?? 'independent';
  if (known.view.batchId !== made.view.batchId || mode(known) !== mode(made)) return false;
  return mode(known) === 'independent' || isSameJson(known.batch?.callIds.toSorted(), made.batch?.callIds.toSorted());
}
