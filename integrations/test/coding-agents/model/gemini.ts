// The Gemini API: Gemini CLI.
import { lastOf, objectsIn, type Answer, type Api, type Body } from './api.ts';

export const gemini: Api = {
  read: (path, body) => {
    if (!/:(streamG|g)enerateContent$/.test(path)) return undefined;
    const parts = lastOf(objectsIn(body['contents']), ({ role }) => role !== 'model').flatMap((content) =>
      objectsIn(content['parts']),
    );
    const results = parts.flatMap(({ functionResponse }) => objectsIn([functionResponse]));
    return {
      told: results.map(({ response }) => Object.values((response ?? {}) as Body).join('\n')).join('\n'),
      tools: objectsIn(body['tools'])
        .flatMap(({ functionDeclarations }) => objectsIn(functionDeclarations))
        .map(({ name }) => String(name)),
      isStreamed: path.includes(':stream'),
    };
  },
  say: (text) => answer({ text }),
  call: ({ id, name, args }) => answer({ functionCall: { id, name, args } }),
};

function answer(part: object): Answer {
  const content = { role: 'model', parts: [part] };
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  const whole = { candidates: [{ index: 0, content, finishReason: 'STOP' }], usageMetadata };
  return { whole, events: [{ data: whole }] };
}
