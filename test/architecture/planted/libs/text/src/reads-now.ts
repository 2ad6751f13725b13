// breaks: no-restricted-syntax
export const at = (): number => Date.now();
