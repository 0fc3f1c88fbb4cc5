// filled: Two groups with data
// Written by gatebench. Run it with: k6 run -e GATEBENCH_URL=http://127.0.0.1:8080 FILE
import http from 'k6/http';
import { check } from 'k6';
import exec from 'k6/execution';
import encoding from 'k6/encoding';
import { Counter } from 'k6/metrics';

const BASE = __ENV.GATEBENCH_URL || 'http://127.0.0.1:8080';

export const options = {
  scenarios: {
    'full_good': {
      executor: 'constant-vus',
      vus: 5,
      duration: '1500ms',
      gracefulStop: '2s',
      exec: 'run_full_good',
    },
    'full_bad_ones': {
      executor: 'constant-vus',
      vus: 1,
      duration: '1500ms',
      gracefulStop: '2s',
      exec: 'run_full_bad_ones',
    },
  },
  // Like gatebench, do not follow redirects. Bodies are kept only for checks.
  maxRedirects: 0,
  discardResponseBodies: true,
};

// Each source is drawn from at most once per request, however often the request uses its values.
function rows() {
  const drawn = {};
  return (name) => {
    if (!(name in drawn)) drawn[name] = SOURCES[name]();
    return drawn[name];
  };
}

function between(min, max) {
  return Math.floor(min + (max - min + 1) * Math.random());
}

// Zipf's law by rejection-inversion (Hörmann and Derflinger, 1996).
function zipf(items, exponent) {
  const area = (x) => (exponent === 1 ? Math.log(x) : Math.pow(x, 1 - exponent) / (1 - exponent));
  const inverse = (y) => (exponent === 1 ? Math.exp(y) : Math.pow(y * (1 - exponent), 1 / (1 - exponent)));
  const low = area(1.5) - 1;
  const high = area(items + 0.5);
  for (;;) {
    const drawn = low + Math.random() * (high - low);
    const number = Math.min(items, Math.max(1, Math.round(inverse(drawn))));
    if (drawn >= area(number + 0.5) - Math.pow(number, -exponent)) return number;
  }
}

const ROWS_1 = [['ann', 'k1'], ['bob', 'k2']];

const SOURCES = {
  'n': () => [1 + 1 * exec.scenario.iterationInTest],
  'users': () => ROWS_1[zipf(2, 1) - 1],
};

// The requests of good, drawn by weight.
const REQUESTS_GOOD = [
  {
    weight: 2,
    method: 'GET',
    path: (row) => '/resource/' + row('n')[0] + '?user=' + row('users')[0],
    body: (row) => null,
    headers: (row) => ({ 'X-Key': '' + row('users')[1] }),
    params: { tags: { name: 'GET /resource/{{ n }}?user={{ users.name }}' } },
    checks: {
      'status is 200': (response) => response.status === 200,
    },
  },
  {
    weight: 1,
    method: 'POST',
    path: (row) => '/xml',
    body: (row) => encoding.b64decode('/w=='),
    headers: (row) => ({}),
    params: { tags: { name: 'POST /xml' } },
    checks: {},
  },
];

// The requests of bad-ones, drawn by weight.
const REQUESTS_BAD_ONES = [
  {
    weight: 1,
    method: 'GET',
    path: (row) => '/none',
    body: (row) => null,
    headers: (row) => ({}),
    params: { tags: { name: 'GET /none' } },
    checks: {
      'status is 404': (response) => response.status === 404,
    },
  },
];

http.setResponseCallback(http.expectedStatuses({ min: 100, max: 599 }));

const COUNTERS = {};
for (const kind of ['1xx', '2xx', '3xx', '4xx', '5xx', 'connect', 'reset', 'timeout', 'other']) {
  COUNTERS[kind] = new Counter('gatebench_' + kind);
}

function count(response) {
  COUNTERS[response.status > 0 ? Math.floor(response.status / 100) + 'xx' : error(response.error_code)].add(1);
}

function error(code) {
  if (code === 1050) return 'timeout';
  if (code === 1220) return 'reset';
  return code >= 1100 && code < 1220 ? 'connect' : 'other';
}

function next(requests) {
  let drawn = Math.random() * requests.reduce((sum, request) => sum + request.weight, 0);
  for (const request of requests) {
    drawn -= request.weight;
    if (drawn < 0) return request;
  }
  return requests[requests.length - 1];
}

function send(requests, timeout) {
  const request = next(requests);
  const row = rows();
  const params = Object.assign({ headers: request.headers(row), timeout }, request.params);
  const response = http.request(request.method, BASE + request.path(row), request.body(row), params);
  count(response);
  check(response, request.checks);
}

export function run_full_good() {
  send(REQUESTS_GOOD, '10s');
}

export function run_full_bad_ones() {
  send(REQUESTS_BAD_ONES, '10s');
}
