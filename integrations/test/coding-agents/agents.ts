import { anthropic } from './model/anthropic.ts';
import type { Api } from './model/api.ts';
import { chat } from './model/chat.ts';
import { gemini } from './model/gemini.ts';
import { responses } from './model/responses.ts';

/** The behaviour of an agent when the hook of a tool gives no decision. */
export type Reaction = 'blocks' | 'runs';

interface Trust {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A coding agent: how to install it, how to run it with a scripted model, and what docs/coding-agents.md says about it. */
export interface Agent {
  /** Its name on the command line of Countersign. */
  readonly name: string;
  readonly package: string;
  /** The version that docs/coding-agents.md names. */
  readonly version: string;
  readonly bin: string;
  readonly api: Api;
  /** The example, in `integrations/examples/coding-agents`, and its place in the folder of the project or of the user. */
  readonly example: string;
  readonly place: string;
  readonly placeIn: 'project' | 'home';
  /** More files of the user. */
  readonly settings?: (modelUrl: string) => Readonly<Record<string, string>>;
  /** Runs one prompt, without the agent's own questions. */
  readonly args: readonly string[];
  /** How the agent is told to trust the hooks, where it must be told. */
  readonly trust?: Trust;
  /** In the place of `trust`: it starts, but does not read the hooks. */
  readonly distrust?: Trust;
  readonly env: (modelUrl: string) => Readonly<Record<string, string>>;
  /** The timeout in the example, and one of a few seconds. Undefined: it has none. */
  readonly timeout?: readonly [string, string];
  /** The column "when the hook crashes, times out or is not found". */
  readonly documented: Readonly<Record<'killed' | 'not found' | 'timed out' | 'not trusted', Reaction | undefined>>;
  /** The state of a call whose command ended with an exit code that is not 0. */
  readonly failedCommand: 'failed' | 'succeeded';
}

const key = 'a-key-for-the-scripted-model';
const prompt = 'Write the marker.';

export const agents: readonly Agent[] = [
  {
    name: 'claude-code',
    package: '@anthropic-ai/claude-code',
    version: '2.1.330',
    bin: 'claude',
    api: anthropic,
    example: 'claude-code/settings.json',
    place: '.claude/settings.json',
    placeIn: 'project',
    args: ['-p', prompt, '--model', 'claude-sonnet-4-5', '--permission-mode', 'bypassPermissions'],
    env: (modelUrl) => ({
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // In a container the user is root, and then the agent wants to know that it is one.
      IS_SANDBOX: '1',
    }),
    timeout: ['"timeout": 600', '"timeout": 3'],
    documented: { killed: 'blocks', 'not found': 'blocks', 'timed out': 'blocks', 'not trusted': undefined },
    failedCommand: 'failed',
  },
  {
    name: 'gemini',
    package: '@google/gemini-cli',
    version: '0.61.0',
    bin: 'gemini',
    api: gemini,
    example: 'gemini/settings.json',
    place: '.gemini/settings.json',
    placeIn: 'project',
    settings: () => ({
      '.gemini/settings.json': JSON.stringify({
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
        security: { auth: { selectedType: 'gemini-api-key' } },
      }),
    }),
    args: ['-p', prompt, '-m', 'gemini-2.5-flash', '--approval-mode', 'yolo'],
    trust: { env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' } },
    distrust: { args: ['--skip-trust'] },
    env: (modelUrl) => ({ GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_API_KEY: key }),
    timeout: ['"timeout": 60000', '"timeout": 3000'],
    documented: { killed: 'runs', 'not found': 'blocks', 'timed out': 'runs', 'not trusted': 'runs' },
    failedCommand: 'succeeded',
  },
  {
    name: 'codex',
    package: '@openai/codex',
    version: '0.169.0',
    bin: 'codex',
    api: responses,
    example: 'codex/hooks.json',
    place: '.codex/hooks.json',
    placeIn: 'home',
    settings: (modelUrl) => ({
      '.codex/config.toml': [
        'model = "scripted"',
        'model_provider = "scripted"',
        'check_for_update_on_startup = false',
        '[model_providers.scripted]',
        'name = "Scripted"',
        `base_url = "${modelUrl}/v1"`,
        'env_key = "SCRIPTED_KEY"',
        'wire_api = "responses"',
        '',
      ].join('\n'),
    }),
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    trust: { args: ['--dangerously-bypass-hook-trust'] },
    distrust: {},
    env: () => ({ SCRIPTED_KEY: key }),
    timeout: ['"timeout": 600', '"timeout": 3'],
    documented: { killed: 'runs', 'not found': 'runs', 'timed out': 'runs', 'not trusted': 'runs' },
    failedCommand: 'succeeded',
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    version: '1.18.33',
    bin: 'opencode',
    api: chat,
    example: 'opencode/countersign.ts',
    place: '.opencode/plugin/countersign.ts',
    placeIn: 'project',
    settings: (modelUrl) => ({
      '.config/opencode/opencode.json': JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        model: 'scripted/scripted',
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${modelUrl}/v1`, apiKey: key },
            models: { scripted: { name: 'Scripted' } },
          },
        },
      }),
    }),
    args: ['run', '--auto', '--print-logs', prompt],
    env: () => ({
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      // It installs the types of its plugins, and without a network goes on without them.
      npm_config_fetch_retries: '0',
    }),
    documented: { killed: 'blocks', 'not found': 'blocks', 'timed out': undefined, 'not trusted': undefined },
    failedCommand: 'succeeded',
  },
  {
    name: 'copilot',
    package: '@github/copilot',
    version: '1.0.102',
    bin: 'copilot',
    api: chat,
    example: 'copilot/hooks.json',
    place: '.github/hooks/countersign.json',
    placeIn: 'project',
    args: ['-p', prompt, '--allow-all-tools', '--no-auto-update'],
    trust: { args: ['--trust-folder'] },
    distrust: {},
    env: (modelUrl) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: 'scripted',
    }),
    timeout: ['"timeoutSec": 30', '"timeoutSec": 3'],
    documented: { killed: 'blocks', 'not found': 'blocks', 'timed out': 'runs', 'not trusted': 'runs' },
    failedCommand: 'succeeded',
  },
];
