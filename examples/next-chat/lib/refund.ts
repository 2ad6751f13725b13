/** Here your payment service belongs. */
export async function refund({ amount }: { readonly amount: number }) {
  console.log(`refunded ${amount}`);
  return { refunded: amount };
}
