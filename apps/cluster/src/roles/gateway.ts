import { loadChannels } from '@countersign/channels';
import {
  createChannelPeople,
  createFileTokens,
  createGatewayApp,
  createGatewayMetrics,
  createPeople,
  loadOidc,
  openGatewayFiles,
} from '@countersign/gateway';
import { loadTools } from '@countersign/resolver';
import { createHistory, loadConditions, readOptionalPolicy } from '@countersign/shell';
import type { RuntimePorts } from '@countersign/shell';
import type { RoleConfig } from '../config.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { openViews } from '../views.js';
import { openJudgingWriteSide } from '../write-side.js';

/** The API and its replica of the read model. */
export async function readGateway(config: RoleConfig, world: RuntimePorts): Promise<OpenRole> {
  const tools = await loadTools(config.toolsFile, process.env);
  const channels = config.channelsFile === null ? undefined : loadChannels(config.channelsFile, process.env);
  const tokens = createFileTokens(config.tokensFile ?? '', world.log);
  let files: ReturnType<typeof openGatewayFiles> | undefined;
  const known = createPeople({
    ...{ tokens: () => tokens, sessions: () => files?.sessions, channels },
    issuer: config.issuer,
  });
  const policy = await readOptionalPolicy(config.policyFile, known);
  return async (roleProcess) => {
    const { clock, ids, log, tracing, onStop } = roleProcess;
    onStop(tokens.close);
    const store = await openEventStore(roleProcess);
    const readModel = await openViews(roleProcess, store);
    const grants = { index: readModel.grants, conditions: loadConditions };
    const judging = { grants, people: known, history: createHistory(readModel) };
    const commands = await openJudgingWriteSide(roleProcess, store, policy, tools, judging);
    files = openGatewayFiles(config.dataFolder, { tokens, clock, ids });
    const { idempotency, sessions, close } = files;
    onStop(close);
    const oidc = config.oidc === null ? undefined : await loadOidc(config.oidc);
    const metrics = createGatewayMetrics();
    const checks = roleProcess.checks().filter(({ name }) => name !== 'event-store' && name !== 'read-model');
    const views = { commands, readModel, store };
    const people = createChannelPeople(channels?.people ?? [], commands.policies, known, clock);
    const door = { tokens, sessions, oidc, channels, people, idempotency };
    const ports = { ...views, ...door, metrics, clock, ids, log, checks, tracing };
    const { host, publicUrl } = config;
    const limited = { ...ports, requestsPerSecond: config.requestsPerSecond ?? undefined };
    await roleProcess.serve((port) =>
      createGatewayApp(limited, { host, port, inbox: { publicUrl: publicUrl ?? undefined } }),
    );
  };
}
