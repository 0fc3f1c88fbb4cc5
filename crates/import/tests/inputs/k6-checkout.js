import http from 'k6/http';
import { check, sleep } from 'k6';

const BASE = __ENV.BASE || 'https://shop.example';
const headers = { 'Content-Type': 'application/json', 'X-Api-Key': 'abc' };

export const options = {
  scenarios: {
    browse: {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [
        { duration: '30s', target: 20 },
        { duration: '1m', target: 20 },
      ],
      exec: 'browse',
    },
    buy: { executor: 'constant-arrival-rate', rate: 120, timeUnit: '1m', duration: '90s', preAllocatedVUs: 5, exec: 'buy' },
  },
  thresholds: { http_req_duration: ['p(95)<200'] },
};

export function browse() {
  const id = Math.ceil(Math.random() * 100);
  const page = http.get(`${BASE}/items/${id}?q=x`);
  check(page, {
    'status is 200': (r) => r.status === 200 && !r.body.includes('error'),
    'has items': (r) => r.body.includes('items'),
    'is fast': (r) => r.timings.duration < 200,
  });
  sleep(1);
}

export function buy() {
  const body = JSON.stringify({ item: 7, note: 'a "gift"' });
  const made = http.post(BASE + '/orders', body, { headers, tags: { name: 'buy' } });
  check(made, { created: (r) => r.status == 201 || r.status == 200, json: (r) => r.headers['Content-Type'] === 'application/json' });
  http.batch([['GET', BASE + '/a']]);
  check(http.get(BASE + '/stock'), { 'in stock': (r) => r.status === 200 && r.body.includes('yes') });
  check(http.del(makeUrl()), { gone: (r) => r.status === 204 });
  sleep(Math.random());
}
