/** A name server of one's own on the loopback, which answers what a test writes into its zone (RFC 1035, section 4). */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const TYPES = { A: 1, CNAME: 5, TXT: 16, AAAA: 28 } as const;
type Type = keyof typeof TYPES;
const CODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;

/** The records of one name and type, or what is said instead; `silence` answers nothing at all. */
export type ZoneEntry = readonly string[] | 'SERVFAIL' | 'NXDOMAIN' | 'REFUSED' | 'silence';

export interface DnsServer {
  /** For `setServers`. */
  readonly address: string;
  /** `TXT name` or `A name`; a name in the zone without that type has no such data, another one does not exist. */
  readonly zone: Map<string, ZoneEntry>;
  close(): Promise<void>;
}

export async function startDnsServer(): Promise<DnsServer> {
  const zone: DnsServer['zone'] = new Map();
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const answer = answerOf(zone, query);
    if (answer) socket.send(answer, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    zone,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function answerOf(zone: DnsServer['zone'], query: Buffer): Buffer | null {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  const question = query.subarray(12, at + 5);
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.').toLowerCase();
  const word = (Object.keys(TYPES) as Type[]).find((each) => TYPES[each] === type);
  const found = zone.get(`${word} ${name}`) ?? zone.get(`CNAME ${name}`) ?? zone.get(`* ${name}`);
  if (found === 'silence') return null;
  const exists = [...zone.keys()].some((key) => key.endsWith(` ${name}`));
  const code = typeof found === 'string' ? found : exists ? 'NOERROR' : 'NXDOMAIN';
  const isAlias = !zone.has(`${word} ${name}`) && zone.has(`CNAME ${name}`);
  const answered: Type = isAlias ? 'CNAME' : (word ?? 'A');
  const records = Array.isArray(found) ? found.map((value) => recordOf(answered, value)) : [];
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | CODES[code], 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

function recordOf(type: Type, value: string): Buffer {
  const data = dataOf(type, value);
  const head = Buffer.alloc(12);
  // A pointer to the name in the question.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(TYPES[type], 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function dataOf(type: Type, value: string): Buffer {
  if (type === 'A') return Buffer.from(value.split('.').map(Number));
  if (type === 'AAAA')
    return Buffer.from(value.split(':').flatMap((part) => [...Buffer.from(part.padStart(4, '0'), 'hex')]));
  if (type === 'CNAME') {
    const labels = value.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
    return Buffer.concat([...labels, Buffer.alloc(1)]);
  }
  const parts = value.match(/.{1,255}/gs) ?? [''];
  return Buffer.concat(parts.map((part) => Buffer.from([part.length, ...Buffer.from(part)])));
}
