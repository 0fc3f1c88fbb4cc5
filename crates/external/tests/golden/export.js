// sizes: Responses of two sizes
// Written by gatebench. Run it with: k6 run -e GATEBENCH_URL=http://gateway:1 FILE
import http from 'k6/http';
import { check, sleep } from 'k6';
import exec from 'k6/execution';

const BASE = __ENV.GATEBENCH_URL || 'http://gateway:1';

export const options = {
  scenarios: {
    'full_warm_up': {
      executor: 'constant-vus',
      vus: 6,
      duration: '1s',
      gracefulStop: '2s',
      exec: 'run_full_warm_up',
    },
    'full': {
      executor: 'constant-vus',
      vus: 6,
      duration: '2s',
      startTime: '3s',
      gracefulStop: '2s',
      exec: 'run_full',
    },
    'up_and_down': {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [{ target: 4, duration: '1s' }, { target: 4, duration: '1s' }],
      startTime: '7s',
      gracefulStop: '2s',
      exec: 'run_up_and_down',
    },
    'few': {
      executor: 'shared-iterations',
      vus: 2,
      iterations: 10,
      maxDuration: '2s',
      startTime: '11s',
      gracefulStop: '2s',
      exec: 'run_few',
    },
    'ramp_warm_up': {
      executor: 'constant-arrival-rate',
      rate: 10,
      timeUnit: '1s',
      duration: '1s',
      preAllocatedVUs: 64,
      maxVUs: 64,
      startTime: '15s',
      gracefulStop: '2s',
      exec: 'run_ramp_warm_up',
    },
    'ramp': {
      executor: 'ramping-arrival-rate',
      startRate: 10,
      timeUnit: '1s',
      stages: [{ target: 20, duration: '2s' }],
      preAllocatedVUs: 64,
      maxVUs: 64,
      startTime: '18s',
      gracefulStop: '2s',
      exec: 'run_ramp',
    },
    'spike': {
      executor: 'ramping-arrival-rate',
      startRate: 10,
      timeUnit: '1s',
      stages: [{ target: 100, duration: '0s' }, { target: 100, duration: '1s' }, { target: 100, duration: '1s' }],
      preAllocatedVUs: 64,
      maxVUs: 64,
      startTime: '22s',
      gracefulStop: '2s',
      exec: 'run_spike',
    },
  },
  // Like gatebench, do not follow redirects. Bodies are kept only for checks.
  maxRedirects: 0,
  discardResponseBodies: true,
  summaryTrendStats: ['avg', 'min', 'med', 'p(90)', 'p(95)', 'p(99)', 'p(99.9)', 'max', 'count'],
  thresholds: {
    checks: ['rate==1'],
    // Thresholds that are always met make k6 report each scenario separately.
    'http_req_duration{scenario:full_warm_up}': ['max>=0'],
    'http_req_duration{scenario:full}': ['max>=0'],
    'http_req_duration{scenario:up_and_down}': ['max>=0'],
    'http_req_duration{scenario:few}': ['max>=0'],
    'http_req_duration{scenario:ramp_warm_up}': ['max>=0'],
    'http_req_duration{scenario:ramp}': ['max>=0'],
    'http_req_duration{scenario:spike}': ['max>=0'],
  },
};

// The requests, sent in turn.
const REQUESTS = [
  {
    method: 'GET',
    path: '/size/350B',
    body: null,
    headers: { 'X-Api-Key': 'it\'s' },
    params: { tags: { name: 'GET /size/350B' }, responseType: 'text' },
    checks: {
      'status is 200': (response) => response.status === 200,
      'header content-type is \'text/plain\'': (response) => response.headers['Content-Type'] === 'text/plain',
      'body contains \'x\'': (response) => (response.body || '').includes('x'),
    },
  },
  {
    method: 'GET',
    path: '/size/1KB?a=b',
    body: null,
    headers: { 'X-Api-Key': 'it\'s' },
    params: { tags: { name: 'GET /size/1KB?a=b' }, responseType: 'text' },
    checks: {
      'status is 200': (response) => response.status === 200,
      'header content-type is \'text/plain\'': (response) => response.headers['Content-Type'] === 'text/plain',
      'body contains \'x\'': (response) => (response.body || '').includes('x'),
    },
  },
];

function next(requests) {
  return requests[exec.scenario.iterationInTest % requests.length];
}

function send(requests, timeout) {
  const request = next(requests);
  const params = Object.assign({ headers: request.headers, timeout }, request.params);
  const response = http.request(request.method, BASE + request.path, request.body, params);
  check(response, request.checks);
}

export function run_full_warm_up() {
  send(REQUESTS, '10s');
  sleep(0.01);
}

export function run_full() {
  send(REQUESTS, '10s');
  sleep(0.01);
}

export function run_up_and_down() {
  send(REQUESTS, '10s');
}

export function run_few() {
  send(REQUESTS, '10s');
}

export function run_ramp_warm_up() {
  send(REQUESTS, '10s');
}

export function run_ramp() {
  send(REQUESTS, '10s');
}

export function run_spike() {
  send(REQUESTS, '10s');
}
