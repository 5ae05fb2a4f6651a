/**
 * The place of a request, without the values in its address: `GET /api/orders/ord_1` becomes `GET/api/orders/id`. Issues and
 * measurements are told apart by place, and a place that holds values would be a new one each time.
 */
export function placeOf(verb: string, path: string): string {
  const words = path.slice(1).split('/', 5);
  return [verb, ...words.map((word) => (/^[a-z][a-z-]{0,23}$/.test(word) ? word : 'id'))].join('/');
}
