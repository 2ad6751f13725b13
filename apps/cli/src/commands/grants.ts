import type { CreateGrantBody, GrantPreview, GrantView, ToolCallView } from '@countersign/contracts';
import { usageError } from '../cli-error.js';
import { pagesOf } from '../connection/pages.js';
import type { Page } from '../connection/pages.js';
import { durationMs } from '../duration-option.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { safeJson } from '../text/printable.js';
import { grantLines, previewLines } from '../view/grant-lines.js';

/** Selects grants. */
export interface GrantFilters {
  readonly state?: string;
  readonly tool?: string;
  readonly limit?: number;
}

/** The options of `countersign grants create`. */
export interface CreateGrantOptions {
  readonly tool: string;
  readonly any?: boolean;
  readonly when?: string;
  readonly exact?: string;
  readonly run?: string;
  readonly agent?: string;
  readonly principal?: string;
  readonly for: string;
  readonly maxUses?: number;
  readonly reason: string;
  readonly dryRun?: boolean;
}

interface GrantsPage extends Page {
  readonly grants: readonly GrantView[];
}

/** `countersign grants list`. */
export async function listGrants(invocation: Invocation, { state, tool, limit }: GrantFilters): Promise<ExitCode> {
  const { client, columns } = invocation;
  const pages = pagesOf<GrantsPage>(
    client,
    '/v1/grants',
    { state, toolName: tool },
    ({ grants }) => grants.length,
    limit,
  );
  let shown = 0;
  for await (const { grants } of pages) {
    for (const grant of grants) {
      invocation.printJson(grant);
      invocation.print(...(shown > 0 ? [{ text: '' }] : []), ...grantLines(grant, columns));
      shown += 1;
    }
  }
  if (shown === 0) invocation.print({ text: 'No grant matches.' });
  return exitCodes.ok;
}

/** `countersign grants show`. */
export async function showGrant(invocation: Invocation, grantId: string): Promise<ExitCode> {
  return print(invocation, await invocation.client.get<GrantView>(pathOf(grantId)));
}

/** `countersign grants confirm`. */
export async function confirmGrant(invocation: Invocation, grantId: string): Promise<ExitCode> {
  return print(invocation, await invocation.client.post<GrantView>(`${pathOf(grantId)}/confirm`));
}

/** `countersign grants revoke`. */
export async function revokeGrant(
  invocation: Invocation,
  grantId: string,
  { reason }: { readonly reason?: string } = {},
): Promise<ExitCode> {
  const body = reason === undefined ? {} : { body: safeJson({ reason }) };
  return print(invocation, await invocation.client.delete<GrantView>(pathOf(grantId), body));
}

/** `countersign grants create`, also with `--dry-run`. */
export async function createGrant(invocation: Invocation, options: CreateGrantOptions): Promise<ExitCode> {
  const { client, columns } = invocation;
  const body: CreateGrantBody = {
    toolName: options.tool,
    ...(await matchOf(invocation, options)),
    ...(options.run !== undefined && { runId: options.run }),
    ...(options.agent !== undefined && { agentId: options.agent }),
    ...(options.principal !== undefined && { requestedBy: options.principal }),
    expiresInMs: durationMs('--for', options.for),
    ...(options.maxUses !== undefined && { maxUses: options.maxUses }),
    reason: options.reason,
  };
  if (options.dryRun !== true) return print(invocation, await client.post<GrantView>('/v1/grants', { body }));
  const preview = await client.post<GrantPreview>('/v1/grants', { body, query: { dryRun: 'true' } });
  invocation.printJson(preview);
  invocation.print(...previewLines(preview, columns));
  return exitCodes.ok;
}

async function matchOf(
  { client }: Invocation,
  { any, when, exact, tool }: CreateGrantOptions,
): Promise<Pick<CreateGrantBody, 'match' | 'labels'>> {
  if ([any, when, exact].filter((given) => given !== undefined).length !== 1) {
    throw usageError('Give one of --any, --when and --exact.');
  }
  if (when !== undefined) return { match: { when } };
  if (exact === undefined) return { match: { any: true } };
  return exactMatchOf(await client.get<ToolCallView>(`/v1/tool-calls/${encodeURIComponent(exact)}`), exact, tool);
}

/** The arguments of a call, and the place to which they are relative. */
async function exactMatchOf(
  call: ToolCallView,
  exact: string,
  tool: string,
): Promise<Pick<CreateGrantBody, 'match' | 'labels'>> {
  if (call.toolName !== tool) throw usageError(`${exact} is a call of ${call.toolName}, not of ${tool}.`);
  if ((call.approval?.hiddenValues.length ?? 0) > 0) {
    const remedy = 'Approve it with `countersign approve … --remember exact`.';
    throw usageError(`${exact} has hidden values, so its digest cannot be computed here.`, remedy);
  }
  const { argumentsDigest, placeLabelsOf } = await import('@countersign/contracts');
  const labels = placeLabelsOf(call.approval?.labels ?? {});
  const match = { digest: argumentsDigest(tool, call.arguments) };
  return Object.keys(labels).length === 0 ? { match } : { match, labels };
}

function pathOf(grantId: string): string {
  return `/v1/grants/${encodeURIComponent(grantId)}`;
}

function print(invocation: Invocation, grant: GrantView): ExitCode {
  invocation.printJson(grant);
  invocation.print(...grantLines(grant, invocation.columns));
  return exitCodes.ok;
}
