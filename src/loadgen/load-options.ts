import { pushAll } from '../collections/index.js';
import { type Fault, fault, option } from '../formats/index.js';
import { ARRIVAL_PROCESSES } from '../workload/index.js';
import type { LoadOptions } from './types.js';

/** Timers have whole milliseconds, as many as 31 bits hold. */
const LEAST_TIMEOUT_S = 0.001;
const MOST_TIMEOUT_S = 2_000_000;

/** optionFaults finds what is wrong with the URL of a server and the options of a load, whatever the server is. */
export function optionFaults(url: string, options: LoadOptions): Fault[] {
  const faults: Fault[] = [];
  const positive = ['rps', 'durationS', 'sloMs', 'timeoutS', 'rows', 'connections'] as const;
  for (const name of positive) {
    const value = options[name];
    if (value !== undefined && !(value > 0 && Number.isFinite(value))) {
      faults.push(fault(`is ${value}; it must be positive`, name));
    }
  }
  const { timeoutS } = options;
  if (timeoutS !== undefined && (timeoutS < LEAST_TIMEOUT_S || timeoutS > MOST_TIMEOUT_S))
    faults.push(
      fault(`is ${timeoutS}; it must be from ${LEAST_TIMEOUT_S} to ${MOST_TIMEOUT_S} s`, 'timeoutS'),
    );
  for (const name of ['rows', 'connections'] as const) {
    if (options[name] !== undefined && !Number.isInteger(options[name])) {
      faults.push(fault(`is ${options[name]}; it must be a whole number`, name));
    }
  }
  if (options.arrivals !== undefined && !ARRIVAL_PROCESSES.includes(options.arrivals)) {
    faults.push(
      fault(`is ${options.arrivals}; valid values are ${ARRIVAL_PROCESSES.join(', ')}`, 'arrivals'),
    );
  }
  pushAll(faults, urlFaults(url));
  return faults;
}

/** urlFaults finds what is wrong with the URL of a server: it is its address, perhaps with a prefix that a proxy gives it. */
export function urlFaults(url: string): Fault[] {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return [fault(`${url} is not an http URL, such as http://127.0.0.1:8000`, 'url')];
  const { origin, pathname, search, hash, username, password } = new URL(url);
  if (username !== '' || password !== '')
    return [
      fault(`holds a name or password; give ${origin}, and ${option('headers')} for an Authorization`, 'url'),
    ];
  // The part of the address before may have versions of its own: http://host/api/v2/team is an address.
  const ofProtocol = /\/v2\/?$|\/v2\/(models|health|repository)(\/.*)?$/;
  if (search === '' && hash === '' && !ofProtocol.test(pathname)) return [];
  const address = origin + pathname.replace(ofProtocol, '').replace(/\/$/, '');
  return [fault(`${url} is more than the address of a server; give only ${address}`, 'url')];
}
