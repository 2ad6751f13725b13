import { spawn } from 'node:child_process';

/** The answer of `countersign hook opencode`. */
interface Answer {
  readonly decision?: 'allow' | 'deny' | 'pass';
  readonly reason?: string | undefined;
  /** The arguments that an approver put in the place of the model's. */
  readonly args?: Record<string, unknown>;
  /** For the model, after the tool. */
  readonly note?: string;
}

interface Place {
  readonly directory: string;
  /** The environment of the hook. */
  readonly env?: NodeJS.ProcessEnv;
}

interface Call {
  readonly tool: string;
  readonly sessionID: string;
  readonly callID: string;
}

interface Hooks {
  readonly 'tool.execute.before': (call: Call, output: { args: Record<string, unknown> }) => Promise<void>;
  readonly 'tool.execute.after': (call: Call, output: { output: string }) => Promise<void>;
}

/** Puts every tool of OpenCode behind approval. It belongs into `.opencode/plugin/`. */
export const Countersign = async ({ directory, env = process.env }: Place): Promise<Hooks> => {
  const hook = createHook(env);
  const running = new Map<string, unknown>();
  return {
    // An error stops the tool, and the model reads its message.
    'tool.execute.before': async (call, output) => {
      const answer = await hook([], { ...call, args: output.args, cwd: directory });
      if (answer.decision !== 'allow' && answer.decision !== 'pass') {
        throw new Error(answer.reason ?? 'Countersign did not decide, so the tool did not run.');
      }
      if (answer.args !== undefined) replace(output.args, answer.args);
      running.set(call.callID, structuredClone(output.args));
    },
    'tool.execute.after': async (call, output) => {
      const args = running.get(call.callID) ?? {};
      running.delete(call.callID);
      const { note } = await hook(['--post'], { ...call, args, cwd: directory, output: output.output });
      if (note !== undefined) output.output += `\n${note}`;
    },
  };
};

/** OpenCode goes on with the same object. */
function replace(args: Record<string, unknown>, approved: Record<string, unknown>): void {
  for (const name of Object.keys(args)) Reflect.deleteProperty(args, name);
  Object.assign(args, approved);
}

/** A hook that cannot run has no decision. */
const createHook = (env: NodeJS.ProcessEnv) => (options: readonly string[], input: object) =>
  new Promise<Answer>((resolve) => {
    const child = spawn('countersign', ['hook', 'opencode', ...options], { stdio: ['pipe', 'pipe', 'ignore'], env });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
    child.once('error', ({ message }) => {
      resolve({ reason: `The command countersign did not start: ${message}. Install it, or put it on the PATH.` });
    });
    child.once('close', (code) => {
      const answer = parse(text);
      // A hook that failed decides nothing.
      resolve(code === 0 ? answer : { reason: answer.reason });
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(input));
  });

function parse(text: string): Answer {
  try {
    return (JSON.parse(text) as Answer | null) ?? {};
  } catch {
    return {};
  }
}
