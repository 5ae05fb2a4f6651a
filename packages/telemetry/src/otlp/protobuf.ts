/**
 * The binary form of OTLP's messages (Protocol Buffers, "Encoding"): messages are built in their JSON form, and this table
 * gives each field its number and type. It has the fields that are sent, as `opentelemetry-proto` 1.x numbers them.
 */

type Scalar = 'string' | 'hex' | 'fixed64' | 'sfixed64' | 'int64' | 'uint32' | 'enum' | 'double' | 'bool';
/** The number of a field, and its type: a scalar, or the name of a message. A list is written as often as it has values. */
type Field = readonly [number: number, type: Scalar | MessageName, packed?: 'packed'];

const MESSAGES = {
  ExportTraceServiceRequest: { resourceSpans: [1, 'ResourceSpans'] },
  ResourceSpans: { resource: [1, 'Resource'], scopeSpans: [2, 'ScopeSpans'] },
  ScopeSpans: { scope: [1, 'InstrumentationScope'], spans: [2, 'Span'] },
  Span: {
    traceId: [1, 'hex'],
    spanId: [2, 'hex'],
    parentSpanId: [4, 'hex'],
    name: [5, 'string'],
    kind: [6, 'enum'],
    startTimeUnixNano: [7, 'fixed64'],
    endTimeUnixNano: [8, 'fixed64'],
    attributes: [9, 'KeyValue'],
    status: [15, 'Status'],
  },
  Status: { message: [2, 'string'], code: [3, 'enum'] },
  ExportLogsServiceRequest: { resourceLogs: [1, 'ResourceLogs'] },
  ResourceLogs: { resource: [1, 'Resource'], scopeLogs: [2, 'ScopeLogs'] },
  ScopeLogs: { scope: [1, 'InstrumentationScope'], logRecords: [2, 'LogRecord'] },
  LogRecord: {
    timeUnixNano: [1, 'fixed64'],
    severityNumber: [2, 'enum'],
    severityText: [3, 'string'],
    body: [5, 'AnyValue'],
    attributes: [6, 'KeyValue'],
    observedTimeUnixNano: [11, 'fixed64'],
  },
  ExportMetricsServiceRequest: { resourceMetrics: [1, 'ResourceMetrics'] },
  ResourceMetrics: { resource: [1, 'Resource'], scopeMetrics: [2, 'ScopeMetrics'] },
  ScopeMetrics: { scope: [1, 'InstrumentationScope'], metrics: [2, 'Metric'] },
  Metric: {
    name: [1, 'string'],
    description: [2, 'string'],
    unit: [3, 'string'],
    sum: [7, 'Sum'],
    histogram: [9, 'Histogram'],
  },
  Sum: { dataPoints: [1, 'NumberDataPoint'], aggregationTemporality: [2, 'enum'], isMonotonic: [3, 'bool'] },
  Histogram: { dataPoints: [1, 'HistogramDataPoint'], aggregationTemporality: [2, 'enum'] },
  NumberDataPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    asInt: [6, 'sfixed64'],
    attributes: [7, 'KeyValue'],
  },
  HistogramDataPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    count: [4, 'fixed64'],
    sum: [5, 'double'],
    bucketCounts: [6, 'fixed64', 'packed'],
    explicitBounds: [7, 'double', 'packed'],
    attributes: [9, 'KeyValue'],
  },
  Resource: { attributes: [1, 'KeyValue'] },
  InstrumentationScope: { name: [1, 'string'], version: [2, 'string'] },
  KeyValue: { key: [1, 'string'], value: [2, 'AnyValue'] },
  AnyValue: {
    stringValue: [1, 'string'],
    boolValue: [2, 'bool'],
    intValue: [3, 'int64'],
    doubleValue: [4, 'double'],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>;

type MessageName = keyof typeof MESSAGES;

/** Wire types. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;

const WIRE_TYPES: Readonly<Record<Scalar, number>> = {
  ...{ string: LENGTH, hex: LENGTH, fixed64: FIXED64, sfixed64: FIXED64, double: FIXED64 },
  ...{ int64: VARINT, uint32: VARINT, enum: VARINT, bool: VARINT },
};

/** @param value the JSON form of the message. @throws TypeError for a field that the table has not. */
export function encodeMessage(name: MessageName, value: object): Uint8Array {
  const writer = new Writer();
  writeMessage(writer, name, value);
  return writer.taken();
}

/** In the order of the table, which is that of the numbers, as other encoders write them. */
function writeMessage(writer: Writer, name: MessageName, message: object): void {
  const fields: Readonly<Record<string, Field>> = MESSAGES[name];
  const values = new Map(Object.entries(message));
  for (const [key, [number, type, packed]] of Object.entries(fields)) {
    const value: unknown = values.get(key);
    values.delete(key);
    if (value === undefined) continue;
    if (packed) {
      writer.tag(number, LENGTH);
      writer.nested((inner) => {
        for (const each of value as readonly unknown[]) writeScalar(inner, type as Scalar, each);
      });
    } else for (const each of Array.isArray(value) ? value : [value]) writeField(writer, number, type, each);
  }
  const [unknown] = values.keys();
  if (unknown !== undefined) throw new TypeError(`${name} has no field ${unknown}`);
}

function writeField(writer: Writer, number: number, type: Scalar | MessageName, value: unknown): void {
  if (type === 'KeyValue') {
    writer.tag(number, LENGTH);
    writer.bytes(encodedAttribute(value as Attribute));
  } else if (Object.hasOwn(MESSAGES, type)) {
    writer.tag(number, LENGTH);
    writer.nested((inner) => writeMessage(inner, type as MessageName, value as object));
  } else {
    writer.tag(number, WIRE_TYPES[type as Scalar]);
    writeScalar(writer, type as Scalar, value);
  }
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string };
}

/** The attributes of spans are those of the spans before: short ones are encoded once. */
const attributes = new Map<string, Uint8Array>();
const ATTRIBUTES_MAX = 2_000;
const ATTRIBUTE_LENGTH_MAX = 200;

function encodedAttribute(attribute: Attribute): Uint8Array {
  const { key, value } = attribute;
  // No key has a line break, and no number.
  const name = `${key}\n${value.stringValue ?? ''}\n${value.intValue ?? ''}`;
  const known = attributes.get(name);
  if (known) return known;
  const writer = new Writer();
  writeMessage(writer, 'KeyValue', attribute);
  const isNamed = value.stringValue !== undefined || value.intValue !== undefined;
  if (!isNamed || name.length > ATTRIBUTE_LENGTH_MAX) return writer.taken();
  if (attributes.size >= ATTRIBUTES_MAX) attributes.clear();
  attributes.set(name, writer.taken());
  return writer.taken();
}

function writeScalar(writer: Writer, type: Scalar, value: unknown): void {
  if (type === 'string') writer.bytes(Buffer.from(String(value), 'utf8'));
  else if (type === 'hex') writer.bytes(Buffer.from(String(value), 'hex'));
  else if (type === 'double') writer.double(Number(value));
  else if (type === 'fixed64' || type === 'sfixed64') writer.fixed64(BigInt(value as string));
  // Negative numbers take ten bytes, as those of 64 bits.
  else writer.varint(BigInt.asUintN(64, BigInt(value as string | number | boolean)));
}

/**
 * Reads the number of refused items from an answer: field 1 of the partial success, which is field 1 of the answer. An answer
 * of another form counts as none.
 */
export function rejectedIn(answer: Uint8Array): number {
  const LENGTH_OF_1 = (1 << 3) | LENGTH;
  const VARINT_OF_1 = (1 << 3) | VARINT;
  if (answer[0] !== LENGTH_OF_1) return 0;
  const { next } = readVarint(answer, 1);
  return answer[next] === VARINT_OF_1 ? readVarint(answer, next + 1).value : 0;
}

function readVarint(bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } {
  let value = 0;
  for (let next = at, factor = 1; ; next++, factor *= 128) {
    const byte = bytes[next] ?? 0;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { value, next: next + 1 };
  }
}

class Writer {
  /** Small at first: most messages are within others. */
  #buffer = Buffer.allocUnsafe(64);
  #length = 0;

  taken(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  tag(number: number, wireType: number): void {
    this.#small((number << 3) | wireType);
  }

  varint(value: bigint): void {
    let left = value;
    while (left > 0x7fn) {
      this.#byte(Number(left & 0x7fn) | 0x80);
      left >>= 7n;
    }
    this.#byte(Number(left));
  }

  fixed64(value: bigint): void {
    this.#reserve(8);
    this.#buffer.writeBigUInt64LE(BigInt.asUintN(64, value), this.#length);
    this.#length += 8;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#buffer.writeDoubleLE(value, this.#length);
    this.#length += 8;
  }

  bytes(bytes: Uint8Array): void {
    this.#small(bytes.length);
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** A message within: its length comes before it. */
  nested(write: (inner: Writer) => void): void {
    const inner = new Writer();
    write(inner);
    this.bytes(inner.taken());
  }

  /** A varint of less than 31 bits. */
  #small(value: number): void {
    let left = value;
    for (; left > 0x7f; left >>>= 7) this.#byte((left & 0x7f) | 0x80);
    this.#byte(left);
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length] = value;
    this.#length += 1;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#length + bytes));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
