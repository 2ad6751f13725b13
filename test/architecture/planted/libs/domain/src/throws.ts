// breaks: no-restricted-syntax
export const no = (): never => {
  throw new Error('no');
};
