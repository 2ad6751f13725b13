// breaks: no-restricted-syntax
export const at = (): Date => new Date();
