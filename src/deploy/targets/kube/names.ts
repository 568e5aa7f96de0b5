/** The most letters of a label of DNS, and so of most names of Kubernetes. */
export const DNS_LETTERS = 63;

/** dnsName turns names into one that Kubernetes takes everywhere (DNS-1035): small letters, digits and `-`, from a letter on. */
export function dnsName(text: string, most = DNS_LETTERS): string {
  const small = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '');
  const begun = /^[a-z]/.test(small) ? small : `m-${small}`;
  return begun.slice(0, most).replace(/-+$/, '');
}

/** isDnsName returns whether a name is one of DNS-1035 with a given number of letters at most. */
export function isDnsName(name: unknown, most = DNS_LETTERS): boolean {
  return typeof name === 'string' && name.length <= most && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name);
}

/** labelValue turns the name of a device class into a value of a label, which has no spaces and few signs. */
export function labelValue(text: string): string {
  const kept = text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, DNS_LETTERS);
  return kept.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '') || 'class';
}
