const QUANTITY = /^(\d+(?:\.\d+)?)(m|k|[KMGT]i?)?$/;

const TIMES: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** quantityNumber gives the number that a quantity of Kubernetes is, such as 2.5 for 2500m; NaN where it is none. */
export function quantityNumber(quantity: unknown): number {
  const [, amount, times] = QUANTITY.exec(String(quantity)) ?? [];
  return Number(amount) * (times === undefined ? 1 : (TIMES[times] ?? Number.NaN));
}

/** quantityGib gives the GiB that a quantity of memory is; NaN where it is none. */
export function quantityGib(quantity: unknown): number {
  return quantityNumber(quantity) / 2 ** 30;
}
