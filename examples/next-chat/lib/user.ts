/** The signed-in user. Here your own session belongs: everybody who opens this example is Kim. */
export const userOf = (_request?: Request) => ({ id: 'kim', groups: ['support'], name: 'Kim' });

/** The run of a conversation. The id comes from the browser, so the run names the user, too. */
export const runOf = (user: { readonly id: string }, id: string) => `${encodeURIComponent(user.id)}/${id}`;
