// breaks: nothing
export const load = (): never => {
  throw new Error('line 3: unknown key');
};
